import IssueProtocol

/// Times in full, in UTC.
enum PageTime {
    /// `2026-11-21 10:00:00Z`.
    static func second(_ moment: Timestamp) -> String {
        let text = moment.text
        guard let dot = text.firstIndex(of: "."), let letter = text.firstIndex(of: "T") else { return text }
        return "\(text[..<letter]) \(text[text.index(after: letter)..<dot])Z"
    }

    /// `2026-11-21T10:00:00.123Z (3 min ago)`.
    static func full(_ moment: Timestamp, now: Timestamp) -> String {
        "\(moment.text) (\(RelativeTime.text(moment, now: now)))"
    }
}
