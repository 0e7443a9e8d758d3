package import IssueCore
import IssueProtocol

extension LogzPayload {
    /// The line that stands for records that were held back.
    package func line(of summary: OutboundSummary) -> [UInt8] {
        var line = LineWriter()
        line.put("@timestamp", summary.windowEnd.text)
        line.put("type", type)
        line.put("event_kind", "suppression_summary")
        line.put("event_id", summary.eventID)
        line.put("code", summary.code ?? 0)
        line.putDomain(summary.domain, app: summary.app)
        line.put("message", Self.message(of: summary))
        line.putEnvironment(summary.application)
        line.put("reported_at", summary.windowEnd.text)
        line.putMobile(summary.application)
        line.put("severity", summary.severity.name)
        line.put("app", summary.app)
        line.put("host", summary.host)
        line.put("fingerprint", ifPresent: summary.fingerprint)
        line.put("suppression_reason", summary.reason.rawValue)
        line.put("window_start", summary.windowStart.text)
        line.put("window_end", summary.windowEnd.text)
        line.put("suppressed_count", summary.suppressedCount)
        line.put("forwarded_count", summary.forwardedCount)
        line.put("occurrences", summary.occurrences)
        line.put("summary_seq", summary.sequence)
        line.put("first_seen", summary.firstSeen.text)
        line.put("last_seen", summary.lastSeen.text)
        line.put("distinct_groups_suppressed", summary.distinctGroups)
        line.put("sample_event_ids", summary.sampleIDs.joined(separator: ","))
        line.put("still_suppressing", .bool(summary.stillSuppressing))
        return line.line()
    }

    private static func message(of summary: OutboundSummary) -> String {
        let count = grouped(summary.suppressedCount)
        if summary.fingerprint != nil { return "\(count) more of: \(summary.title)" }
        let groups = "\(count) more of \(grouped(summary.distinctGroups)) issues"
        return summary.title.isEmpty ? groups : "\(groups): \(summary.title)"
    }

    /// The number with a comma between its thousands, whatever the locale.
    private static func grouped(_ number: Int64) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }
}
