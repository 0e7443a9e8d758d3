/// Runs an operation and reports the error that it throws.
///
/// ```swift
/// let image = withErrorReporting("Loading the picture") { try load(url) }
/// ```
///
/// A `CancellationError` ends the operation as well, but is not reported.
///
/// - Parameters:
///   - message: A description of the operation.
///   - reporters: The reporters for this error and for issues during the operation. Nil keeps the current ones.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
///   - body: The operation to run.
/// - Returns: The value that the operation returns, or nil if it throws.
public func withErrorReporting<R>(
    _ message: @autoclosure () -> IssueText, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () throws -> R
) -> R? {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return ReportingScope.$box.withValue(ReportingScope.replacingReporters(ifGiven: reporters)) {
        do {
            return try body()
        } catch {
            Reporting.reportThrown(error, message, at: site)
            return nil
        }
    }
}

/// Runs an operation and reports the error that it throws.
///
/// This version is for a message that is not a literal; nil for none. Otherwise like the version with an
/// ``IssueText``.
@_disfavoredOverload
public func withErrorReporting<R>(
    _ message: @autoclosure () -> String? = nil, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () throws -> R
) -> R? {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return ReportingScope.$box.withValue(ReportingScope.replacingReporters(ifGiven: reporters)) {
        do {
            return try body()
        } catch {
            Reporting.reportThrown(error, { IssueText.plain(message()) }, at: site)
            return nil
        }
    }
}

/// Runs an operation with an optional result and reports the error that it throws.
///
/// The result is not wrapped in another optional. Otherwise like the version for other results.
public func withErrorReporting<R>(
    _ message: @autoclosure () -> IssueText, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () throws -> R?
) -> R? {
    let result: R?? = withErrorReporting(
        message(), to: reporters, fileID: fileID, filePath: filePath, line: line, column: column, catching: body)
    return result ?? nil
}

/// Runs an operation with an optional result and reports the error that it throws.
///
/// This version is for a message that is not a literal; nil for none. Otherwise like the version with an
/// ``IssueText``.
@_disfavoredOverload
public func withErrorReporting<R>(
    _ message: @autoclosure () -> String? = nil, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () throws -> R?
) -> R? {
    let result: R?? = withErrorReporting(
        message(), to: reporters, fileID: fileID, filePath: filePath, line: line, column: column, catching: body)
    return result ?? nil
}

/// Runs an asynchronous operation and reports the error that it throws.
///
/// This is the asynchronous version of `withErrorReporting`.
public func withErrorReporting<R>(
    _ message: @autoclosure () -> IssueText, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () async throws -> sending R
) async -> R? {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await ReportingScope.$box.withValue(ReportingScope.replacingReporters(ifGiven: reporters)) {
        do {
            return try await body()
        } catch {
            Reporting.reportThrown(error, message, at: site)
            return nil
        }
    }
}

/// Runs an asynchronous operation and reports the error that it throws.
///
/// This version is for a message that is not a literal; nil for none. Otherwise like the version with an
/// ``IssueText``.
@_disfavoredOverload
public func withErrorReporting<R>(
    _ message: @autoclosure () -> String? = nil, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () async throws -> sending R
) async -> R? {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await ReportingScope.$box.withValue(ReportingScope.replacingReporters(ifGiven: reporters)) {
        do {
            return try await body()
        } catch {
            Reporting.reportThrown(error, { IssueText.plain(message()) }, at: site)
            return nil
        }
    }
}

/// Runs an asynchronous operation with an optional result and reports the error that it throws.
///
/// This is the asynchronous version of `withErrorReporting` for optional results.
public func withErrorReporting<R>(
    _ message: @autoclosure () -> IssueText, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () async throws -> sending R?
) async -> R? {
    let result: R?? = await withErrorReporting(
        message(), to: reporters, fileID: fileID, filePath: filePath, line: line, column: column, catching: body)
    return result ?? nil
}

/// Runs an asynchronous operation with an optional result and reports the error that it throws.
///
/// This version is for a message that is not a literal; nil for none. Otherwise like the version with an
/// ``IssueText``.
@_disfavoredOverload
public func withErrorReporting<R>(
    _ message: @autoclosure () -> String? = nil, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () async throws -> sending R?
) async -> R? {
    let result: R?? = await withErrorReporting(
        message(), to: reporters, fileID: fileID, filePath: filePath, line: line, column: column, catching: body)
    return result ?? nil
}

extension ReportingScope {
    /// Returns the current scope, with other reporters unless they are nil.
    fileprivate static func replacingReporters(ifGiven reporters: [any IssueReporter]?) -> Box {
        reporters.map { replacingReporters(with: $0) } ?? box
    }
}

extension Reporting {
    /// Reports an error that an operation threw, unless it is a `CancellationError`.
    fileprivate static func reportThrown(_ error: any Error, _ message: () -> IssueText?, at site: IssueSite) {
        guard !(error is CancellationError) else { return }
        report(error, message, level: .error, metadata: { [:] }, at: site)
    }
}

/// Runs an operation and attributes all issues that it reports to one source location.
///
/// Use it, for example, in a helper function of a test to report the location of its caller.
///
/// ```swift
/// func checkCart(
///     fileID: StaticString = #fileID, filePath: StaticString = #filePath,
///     line: UInt = #line, column: UInt = #column
/// ) {
///     withIssueContext(fileID: fileID, filePath: filePath, line: line, column: column) {
///         check(cart)
///     }
/// }
/// ```
///
/// - Parameters:
///   - fileID: The file ID of the location.
///   - filePath: The file path of the location.
///   - line: The line of the location.
///   - column: The column of the location.
///   - operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withIssueContext<R>(
    fileID: StaticString, filePath: StaticString, line: UInt, column: UInt, operation: () throws -> R
) rethrows -> R {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return try ReportingScope.$box.withValue(ReportingScope.changed { $0.site = site }, operation: operation)
}

/// Runs an asynchronous operation and attributes all issues that it reports to one source location.
///
/// This is the asynchronous version of ``withIssueContext(fileID:filePath:line:column:operation:)``.
public func withIssueContext<R>(
    fileID: StaticString, filePath: StaticString, line: UInt, column: UInt,
    isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return try await ReportingScope.$box.withValue(ReportingScope.changed { $0.site = site }, operation: operation)
}

/// Runs an operation and adds metadata to every issue that it reports.
///
/// For equal keys, metadata of the reporting call takes precedence over that of scopes, and inner scopes take
/// precedence over outer ones.
///
/// ```swift
/// withIssueMetadata(["request_id": "\(request.id)"]) {
///     handle(request)
/// }
/// ```
///
/// - Parameters:
///   - metadata: The metadata to add.
///   - operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withIssueMetadata<R>(_ metadata: IssueMetadata, operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.adding(metadata), operation: operation)
}

/// Runs an asynchronous operation and adds metadata to every issue that it reports.
///
/// This is the asynchronous version of `withIssueMetadata`.
public func withIssueMetadata<R>(_ metadata: IssueMetadata, operation: () async throws -> R) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.adding(metadata), operation: operation)
}

/// Runs an operation and groups every issue that it reports by a text of yours.
///
/// All issues of an application with the same fingerprint are one issue for the daemon, whatever their messages and
/// locations are. A fingerprint of the reporting call takes precedence over that of scopes, and an inner scope over
/// outer ones.
///
/// - Parameters:
///   - fingerprint: The fingerprint. Nil or an empty text lets the daemon choose, even if an outer scope has one.
///   - operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withIssueFingerprint<R>(_ fingerprint: String?, operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.grouping(by: fingerprint), operation: operation)
}

/// Runs an asynchronous operation and groups every issue that it reports by a text of yours.
///
/// This is the asynchronous version of `withIssueFingerprint`.
public func withIssueFingerprint<R>(_ fingerprint: String?, operation: () async throws -> R) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.grouping(by: fingerprint), operation: operation)
}

extension ReportingScope {
    fileprivate static func grouping(by fingerprint: String?) -> Box {
        changed { $0.fingerprint = fingerprint?.isEmpty == true ? nil : fingerprint }
    }

    fileprivate static func adding(_ metadata: IssueMetadata) -> Box {
        changed { $0.metadata = $0.metadata.merging(metadata) }
    }
}
