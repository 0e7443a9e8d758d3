/// An issue that was reported while a test expected one.
public struct ReportedIssue: Sendable {
    /// "Issue reported", and its message after a colon.
    public var description: String
    /// The error, if it was one.
    public var error: (any Error)?
    /// How serious it is.
    public var severity: IssueSeverity
    /// The source file, with its module.
    public var fileID: StaticString
    /// The path of the source file.
    public var filePath: StaticString
    /// The line.
    public var line: UInt
    /// The column.
    public var column: UInt

    init(_ report: IssueReport) {
        let text = report.error.map { CaughtError.text($0, report.note) } ?? report.message
        description = text == IssueReport.wordless ? text : "\(IssueReport.wordless): \(text)"
        error = report.error
        severity = report.level.severity
        fileID = report.site.fileID
        filePath = report.site.filePath
        line = report.site.line
        column = report.site.column
    }
}
