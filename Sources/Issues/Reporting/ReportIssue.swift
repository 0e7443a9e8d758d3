/// Reports an issue.
///
/// The message is evaluated at most once, and not at all without reporters and responders. The call does not wait for
/// the daemon or anything else outside the process, unless a custom reporter or responder does.
///
/// - Parameters:
///   - message: A description of what went wrong.
///   - severity: The severity of the issue.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
public func reportIssue(
    _ message: @autoclosure () -> IssueText, severity: IssueSeverity = .error,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        nil, message, level: IssueLevel(severity), metadata: { [:] },
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports an issue with a message that is not a literal. Nil reports "Issue reported".
///
/// Otherwise like the version with an ``IssueText``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> String? = nil, severity: IssueSeverity = .error,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        nil, { IssueText.plain(message()) }, level: IssueLevel(severity), metadata: { [:] },
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports a caught error.
///
/// - Parameters:
///   - error: The error.
///   - message: A description of what the program was doing when the error occurred.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> IssueText,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        error, message, level: .error, metadata: { [:] },
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports a caught error with a message that is not a literal; nil for none.
///
/// Otherwise like the version with an ``IssueText``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        error, { IssueText.plain(message()) }, level: .error, metadata: { [:] },
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports an issue with one of the five levels and with metadata.
///
/// - Parameters:
///   - message: A description of what went wrong.
///   - level: The level of the issue.
///   - metadata: Metadata of the issue. Evaluated only if a reporter or responder needs it.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
///   - function: The function of the reported location. Defaults to the caller's.
public func reportIssue(
    _ message: @autoclosure () -> IssueText, level: IssueLevel,
    metadata: @autoclosure () -> IssueMetadata = [:],
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, message, level: level, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue with a message that is not a literal. Nil reports "Issue reported".
///
/// Otherwise like the version with an ``IssueText``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> String? = nil, level: IssueLevel,
    metadata: @autoclosure () -> IssueMetadata = [:],
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, { IssueText.plain(message()) }, level: level, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue of level `error` with metadata. Otherwise like the version with a level.
public func reportIssue(
    _ message: @autoclosure () -> IssueText, metadata: @autoclosure () -> IssueMetadata,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, message, level: .error, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue with a message that is not a literal. Nil reports "Issue reported".
///
/// Otherwise like the version with an ``IssueText``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> String? = nil, metadata: @autoclosure () -> IssueMetadata,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, { IssueText.plain(message()) }, level: .error, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with one of the five levels and with metadata.
///
/// - Parameters:
///   - error: The error.
///   - message: A description of what the program was doing when the error occurred.
///   - level: The level of the issue.
///   - metadata: Metadata of the issue. Evaluated only if a reporter or responder needs it.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
///   - function: The function of the reported location. Defaults to the caller's.
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> IssueText, level: IssueLevel,
    metadata: @autoclosure () -> IssueMetadata = [:],
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, message, level: level, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with a message that is not a literal; nil for none.
///
/// Otherwise like the version with an ``IssueText``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> String? = nil, level: IssueLevel,
    metadata: @autoclosure () -> IssueMetadata = [:],
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { IssueText.plain(message()) }, level: level, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with metadata, at level `error`. Otherwise like the version with a level.
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> IssueText, metadata: @autoclosure () -> IssueMetadata,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, message, level: .error, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with a message that is not a literal; nil for none.
///
/// Otherwise like the version with an ``IssueText``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> String? = nil, metadata: @autoclosure () -> IssueMetadata,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { IssueText.plain(message()) }, level: .error, metadata: metadata,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}
