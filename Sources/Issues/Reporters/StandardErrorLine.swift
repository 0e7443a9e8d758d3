internal import UnixIO

/// An issue as one line for whoever watches the process.
enum StandardErrorLine {
    static func text(_ report: IssueReport) -> String {
        let text = report.error.map { CaughtError.text($0, report.note) } ?? report.message
        return "\(report.site): \(report.level.rawValue): \(text)\n"
    }

    /// Writes the line in one piece, so that lines of several threads don't mix.
    static func write(_ report: IssueReport) {
        // Nobody is left to be told when standard error itself is gone.
        try? StandardStream.error.writeAll(text(report))
    }
}
