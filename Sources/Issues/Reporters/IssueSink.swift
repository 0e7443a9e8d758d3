/// A reporter that is given each issue as one value, with all that is known.
///
/// ```swift
/// struct Counter: IssueSink {
///     func receive(_ report: IssueReport) { issues.increment(by: 1) }
/// }
/// ```
public protocol IssueSink: IssueReporter {
    /// Takes an issue. Called on the thread that reports, so it must not wait.
    func receive(_ report: IssueReport)
}

extension IssueSink {
    /// Hands the issue to ``receive(_:)``.
    public func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        receive(
            IssueReport(
                note: message(), level: IssueLevel(severity), metadata: [:],
                site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)))
    }

    /// Hands the error to ``receive(_:)``.
    public func reportIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        receive(
            IssueReport(
                error: error, note: message(), level: .error, metadata: [:],
                site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)))
    }
}
