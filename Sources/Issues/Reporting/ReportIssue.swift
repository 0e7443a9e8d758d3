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

/// Reports an issue of one of the five levels, with facts that go with it.
///
/// - Parameters:
///   - message: What went wrong.
///   - level: How serious it is.
///   - metadata: Facts, evaluated only when a reporter takes them.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - function: The function.
public func reportIssue(
    _ message: @autoclosure () -> String? = nil, level: IssueLevel,
    metadata: @autoclosure () -> IssueMetadata = [:],
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, message, level: level, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue with facts that go with it, or facts alone.
///
/// - Parameters:
///   - message: What went wrong.
///   - metadata: Facts, evaluated only when a reporter takes them.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - function: The function.
public func reportIssue(
    _ message: @autoclosure () -> String? = nil, metadata: @autoclosure () -> IssueMetadata,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, message, level: .error, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error at one of the five levels, with facts that go with it.
///
/// - Parameters:
///   - error: The error.
///   - message: What was being done when it came.
///   - level: How serious it is.
///   - metadata: Facts, evaluated only when a reporter takes them.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - function: The function.
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> String? = nil, level: IssueLevel,
    metadata: @autoclosure () -> IssueMetadata = [:],
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, message, level: level, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with facts that go with it.
///
/// - Parameters:
///   - error: The error.
///   - message: What was being done when it came.
///   - metadata: Facts, evaluated only when a reporter takes them.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - function: The function.
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> String? = nil, metadata: @autoclosure () -> IssueMetadata,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, message, level: .error, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}
