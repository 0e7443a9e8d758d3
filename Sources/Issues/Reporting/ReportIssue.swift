/// Reports an issue.
///
/// The message is evaluated at most once, and not at all if there are neither reporters nor responders. The call does
/// not wait for the daemon. It may wait while a reporter writes to standard error, or for a responder or a custom
/// reporter.
///
/// - Parameters:
///   - message: A description of what went wrong.
///   - severity: The severity of the issue.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
public func reportIssue(
    _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        nil, message, level: severity, at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports an issue with a message that is not a literal. Nil reports "Issue reported".
///
/// Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> String? = nil, severity: IssueLevel = .error,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        nil, { IssueText.plain(message()) }, level: severity,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports an issue whose severity is a variable of type ``IssueSeverity``.
///
/// Otherwise the same as the version with an ``IssueLevel``.
public func reportIssue(
    _ message: @autoclosure () -> IssueText, severity: some _IssueSeverity,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        nil, message, level: severity.level,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports an issue with a message that is not a literal. Its severity is a variable of type ``IssueSeverity``.
///
/// Otherwise the same as the version with an ``IssueLevel``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> String? = nil, severity: some _IssueSeverity,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        nil, { IssueText.plain(message()) }, level: severity.level,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports a caught error.
///
/// - Parameters:
///   - error: The error.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
public func reportIssue(
    _ error: any Error,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        error, { nil }, at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
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
        error, message, at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports a caught error with a message that is not a literal; nil for none.
///
/// Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> String?,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Reporting.report(
        error, { IssueText.plain(message()) },
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Reports an issue with metadata or a custom fingerprint.
///
/// - Parameters:
///   - message: A description of what went wrong.
///   - severity: The severity of the issue.
///   - level: An alternative to `severity`, which it overrides. Nil uses `severity`.
///   - metadata: Metadata of the issue. Evaluated only if a reporter or responder needs it.
///   - fingerprint: The text that the issue is grouped by instead of its message and location. Nil or an empty string
///     uses the fingerprint of `withIssueFingerprint`. If that is not set either, the daemon computes one.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
///   - function: The function of the reported location. Defaults to the caller's.
public func reportIssue(
    _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata = [:], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, message, level: level ?? severity, metadata: metadata, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue with a message that is not a literal. Nil reports "Issue reported".
///
/// Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> String? = nil, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata = [:], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, { IssueText.plain(message()) }, level: level ?? severity, metadata: metadata, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with metadata, a custom fingerprint or a severity.
///
/// - Parameters:
///   - error: The error.
///   - severity: The severity of the issue.
///   - level: An alternative to `severity`, which it overrides. Nil uses `severity`.
///   - metadata: Metadata of the issue. Evaluated only if a reporter or responder needs it.
///   - fingerprint: The text that the issue is grouped by instead of its message and location. Nil or an empty string
///     uses the fingerprint of `withIssueFingerprint`. If that is not set either, the daemon computes one.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
///   - function: The function of the reported location. Defaults to the caller's.
public func reportIssue(
    _ error: any Error, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata = [:], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { nil }, level: level ?? severity, metadata: metadata, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with metadata, a custom fingerprint or a severity.
///
/// - Parameters:
///   - error: The error.
///   - message: A description of what the program was doing when the error occurred.
///   - severity: The severity of the issue.
///   - level: An alternative to `severity`, which it overrides. Nil uses `severity`.
///   - metadata: Metadata of the issue. Evaluated only if a reporter or responder needs it.
///   - fingerprint: The text that the issue is grouped by instead of its message and location. Nil or an empty string
///     uses the fingerprint of `withIssueFingerprint`. If that is not set either, the daemon computes one.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
///   - function: The function of the reported location. Defaults to the caller's.
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error,
    level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata = [:], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, message, level: level ?? severity, metadata: metadata, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with a message that is not a literal; nil for none.
///
/// Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> String?, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata = [:], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { IssueText.plain(message()) }, level: level ?? severity, metadata: metadata, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue that is given as an ``IssueReport``, for example because its location is known only at run time.
///
/// ```swift
/// reportIssue(IssueReport(message, level: .error, site: IssueSite(fileID: file, line: line, function: function)))
/// ```
///
/// - Parameter report: The issue.
public func reportIssue(_ report: IssueReport) {
    Reporting.report(report)
}
