// The overloads for metadata that contains variables. A literal with variables is an `IssueMetadata.EncodableLiteral`. A
// dictionary that is not a literal is passed as `[String: any Encodable]`; the overloads for it are disfavored, since a
// literal of that type would trap if a key occurred twice. The literal is optional, so that the compiler prefers
// `IssueMetadata` for `[:]`.

/// Reports an issue whose metadata contains variables of any `Encodable` type.
///
/// Otherwise like the version with an ``IssueMetadata``.
public func reportIssue(
    _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata.EncodableLiteral?, fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, message, level: level ?? severity, metadata: { metadata()?.metadata ?? [:] }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue with metadata from a dictionary.
///
/// Otherwise like the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> [String: any Encodable], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, message, level: level ?? severity, metadata: { IssueMetadata(metadata()) }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue with a message that is not a literal. Its metadata contains variables of any `Encodable` type.
///
/// Otherwise like the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> String? = nil, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata.EncodableLiteral?, fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, { IssueText.plain(message()) }, level: level ?? severity, metadata: { metadata()?.metadata ?? [:] },
        fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error whose metadata contains variables of any `Encodable` type.
///
/// Otherwise like the version with an ``IssueMetadata``.
public func reportIssue(
    _ error: any Error, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata.EncodableLiteral?, fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { nil }, level: level ?? severity, metadata: { metadata()?.metadata ?? [:] }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with metadata from a dictionary.
///
/// Otherwise like the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> [String: any Encodable], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { nil }, level: level ?? severity, metadata: { IssueMetadata(metadata()) }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error whose metadata contains variables of any `Encodable` type.
///
/// Otherwise like the version with an ``IssueMetadata``.
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error,
    level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata.EncodableLiteral?, fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, message, level: level ?? severity, metadata: { metadata()?.metadata ?? [:] }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with metadata from a dictionary.
///
/// Otherwise like the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error,
    level: IssueLevel? = nil,
    metadata: @autoclosure () -> [String: any Encodable], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, message, level: level ?? severity, metadata: { IssueMetadata(metadata()) }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with a message that is not a literal. Its metadata contains variables of any `Encodable` type.
///
/// Otherwise like the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> String?, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata.EncodableLiteral?, fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { IssueText.plain(message()) }, level: level ?? severity, metadata: { metadata()?.metadata ?? [:] },
        fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Records an event whose metadata contains variables of any `Encodable` type.
///
/// Otherwise like the version with an ``IssueMetadata``.
public func leaveBreadcrumb(_ message: IssueText, metadata: IssueMetadata.EncodableLiteral?) {
    leaveBreadcrumb(message, metadata: metadata?.metadata ?? [:])
}

/// Records an event with a message that is not a literal. Its metadata contains variables of any `Encodable` type.
///
/// Otherwise like the version with an ``IssueMetadata``.
@_disfavoredOverload
public func leaveBreadcrumb(_ message: String, metadata: IssueMetadata.EncodableLiteral?) {
    leaveBreadcrumb(message, metadata: metadata?.metadata ?? [:])
}
