// The overloads for metadata that contains variables. They are disfavored, so that the compiler turns a literal into an
// `IssueMetadata` wherever it can.
//
// A literal with variables is an `IssueMetadata.EncodableLiteral`, and a dictionary that is not a literal is passed as
// `[AnyHashable: any Encodable]`. A message that is not a literal is an `AnyHashable` here, because converting to that
// type is what the compiler prefers least. If the message were a `String`, the compiler would choose these overloads
// even for a message that is a literal.
// Metadata that is a literal must not become a dictionary, since a dictionary literal traps if a key occurs twice.

/// Reports an issue. Its metadata is a literal with variables.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata.EncodableLiteral, fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, message, level: level ?? severity, metadata: { metadata().metadata }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue. Its metadata is a dictionary.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> [AnyHashable: any Encodable], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, message, level: level ?? severity, metadata: { IssueMetadata(metadata()) }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue with a message that is not a literal, and with metadata that is a literal with variables.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> AnyHashable?, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata.EncodableLiteral, fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, { IssueText.plain(message()) }, level: level ?? severity, metadata: { metadata().metadata },
        fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports an issue with a message that is not a literal, and with metadata that is a dictionary.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ message: @autoclosure () -> AnyHashable?, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> [AnyHashable: any Encodable], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        nil, { IssueText.plain(message()) }, level: level ?? severity, metadata: { IssueMetadata(metadata()) },
        fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with metadata that is a literal with variables.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata.EncodableLiteral, fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { nil }, level: level ?? severity, metadata: { metadata().metadata }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with metadata that is a dictionary.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, severity: IssueLevel = .error, level: IssueLevel? = nil,
    metadata: @autoclosure () -> [AnyHashable: any Encodable], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { nil }, level: level ?? severity, metadata: { IssueMetadata(metadata()) }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with a message, and with metadata that is a literal with variables.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error,
    level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata.EncodableLiteral, fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, message, level: level ?? severity, metadata: { metadata().metadata }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with a message, and with metadata that is a dictionary.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> IssueText, severity: IssueLevel = .error,
    level: IssueLevel? = nil,
    metadata: @autoclosure () -> [AnyHashable: any Encodable], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, message, level: level ?? severity, metadata: { IssueMetadata(metadata()) }, fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with a message that is not a literal, and with metadata that is a literal with variables.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> AnyHashable?, severity: IssueLevel = .error,
    level: IssueLevel? = nil,
    metadata: @autoclosure () -> IssueMetadata.EncodableLiteral, fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { IssueText.plain(message()) }, level: level ?? severity, metadata: { metadata().metadata },
        fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Reports a caught error with a message that is not a literal, and with metadata that is a dictionary.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func reportIssue(
    _ error: any Error, _ message: @autoclosure () -> AnyHashable?, severity: IssueLevel = .error,
    level: IssueLevel? = nil,
    metadata: @autoclosure () -> [AnyHashable: any Encodable], fingerprint: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    function: StaticString = #function
) {
    Reporting.report(
        error, { IssueText.plain(message()) }, level: level ?? severity, metadata: { IssueMetadata(metadata()) },
        fingerprint: fingerprint,
        at: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
}

/// Records an event whose metadata is a literal with variables.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func leaveBreadcrumb(_ message: IssueText, metadata: IssueMetadata.EncodableLiteral) {
    leaveBreadcrumb(message, metadata: metadata.metadata)
}

/// Records an event with a message that is not a literal, and with metadata that is a literal with variables.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func leaveBreadcrumb(_ message: AnyHashable, metadata: IssueMetadata.EncodableLiteral) {
    leaveBreadcrumb(IssueText(any: message).text, metadata: metadata.metadata)
}

/// Records an event whose metadata is a dictionary.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func leaveBreadcrumb(_ message: IssueText, metadata: [AnyHashable: any Encodable]) {
    leaveBreadcrumb(message, metadata: IssueMetadata(metadata))
}

/// Records an event with a message that is not a literal, and with metadata that is a dictionary.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func leaveBreadcrumb(_ message: AnyHashable, metadata: [AnyHashable: any Encodable]) {
    leaveBreadcrumb(IssueText(any: message).text, metadata: IssueMetadata(metadata))
}

/// Runs an operation and adds metadata to every issue that it reports. The metadata is a literal with variables.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func withIssueMetadata<R>(
    _ metadata: IssueMetadata.EncodableLiteral, operation: () throws -> R
) rethrows -> R {
    try withIssueMetadata(metadata.metadata, operation: operation)
}

/// Runs an operation and adds metadata to every issue that it reports. The metadata is a dictionary.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func withIssueMetadata<R>(
    _ metadata: [AnyHashable: any Encodable], operation: () throws -> R
) rethrows -> R {
    try withIssueMetadata(IssueMetadata(metadata), operation: operation)
}

/// Runs an asynchronous operation and adds metadata to every issue that it reports. The metadata is a literal with
/// variables.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func withIssueMetadata<R>(
    _ metadata: IssueMetadata.EncodableLiteral, operation: () async throws -> R
) async rethrows -> R {
    try await withIssueMetadata(metadata.metadata, operation: operation)
}

/// Runs an asynchronous operation and adds metadata to every issue that it reports. The metadata is a dictionary.
///
/// Otherwise the same as the version with an ``IssueMetadata``.
@_disfavoredOverload
public func withIssueMetadata<R>(
    _ metadata: [AnyHashable: any Encodable], operation: () async throws -> R
) async rethrows -> R {
    try await withIssueMetadata(IssueMetadata(metadata), operation: operation)
}

extension IssueText {
    /// Creates a message from a variable.
    fileprivate init(any message: AnyHashable) {
        self.init(plain: message.base as? String ?? "\(message.base)")
    }

    /// Returns a message from a variable; nil if the variable is nil.
    fileprivate static func plain(_ message: AnyHashable?) -> IssueText? { message.map { IssueText(any: $0) } }
}
