/// Reports an issue.
///
/// The message is evaluated at most once, and not at all when nobody listens.
/// Never waits for anything outside the process unless a reporter does.
///
/// - Parameters:
///   - message: What went wrong.
///   - severity: How serious it is.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
public func reportIssue(
    _ message: @autoclosure () -> String? = nil, severity: IssueSeverity = .error,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        nil, message, level: IssueLevel(severity), metadata: { [:] },
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports a caught error.
///
/// - Parameters:
///   - error: The error.
///   - message: What was being done when it came.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        error, message, level: .error, metadata: { [:] },
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}
