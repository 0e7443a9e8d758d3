/// Something that is told of issues as they are reported.
///
/// The requirements are those of swift-issue-reporting 2.0; a reporter written
/// for it works unchanged. A reporter that wants all there is to know, such as
/// level and metadata, conforms to ``IssueSink`` instead.
public protocol IssueReporter: Sendable {
    /// Reports an issue.
    func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt)

    /// Reports a caught error.
    func reportIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt)

    /// Reports an issue that was expected.
    func expectIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt)

    /// Reports a caught error that was expected.
    func expectIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt)

    /// Reports an issue without saying how serious it is.
    ///
    /// There for reporters of old; new ones implement the form with a severity.
    func reportIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt)
}

extension IssueReporter {
    /// Reports the error's description as a message.
    public func reportIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        reportIssue(
            CaughtError.text(error, message()), severity: .error, fileID: fileID, filePath: filePath, line: line,
            column: column)
    }

    /// Does nothing.
    public func expectIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt
    ) {}

    /// Reports the error's description as an expected issue.
    public func expectIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        expectIssue(
            CaughtError.text(error, message()), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports an issue as an error.
    public func reportIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt
    ) {
        reportIssue(
            message(), severity: .error, fileID: fileID, filePath: filePath, line: line, column: column)
    }
}
