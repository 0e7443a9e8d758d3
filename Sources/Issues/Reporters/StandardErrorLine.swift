internal import IssueWire
internal import UnixIO

/// An issue as one line for whoever watches the process.
enum StandardErrorLine {
    /// The line, without its end.
    static func text(_ report: IssueReport) -> String {
        line(report, saying: report.error.map { CaughtError.text($0, report.note) } ?? report.message)
    }

    static func line(_ report: IssueReport, saying text: String) -> String {
        let metadata = report.metadata.isEmpty ? "" : " \(report.metadata)"
        return "\(report.site): \(report.level.rawValue): \(text)\(metadata)"
    }

    static func write(_ report: IssueReport) {
        write(text(report))
    }

    static func write(expected message: String?, at site: IssueSite) {
        let text = message.flatMap { $0.isEmpty ? nil : $0 } ?? IssueReport.wordless
        write("\(site): expected: \(text)")
    }

    /// Writes the line in one piece, so that lines of several threads don't mix.
    ///
    /// A report may quote untrusted text, so line feeds and escape sequences in
    /// it are made harmless for logs and terminals.
    static func write(_ line: String) {
        // Nobody is left to be told when standard error itself is gone.
        try? StandardStream.error.writeAll("\(HarmlessText.line(line))\n")
    }
}
