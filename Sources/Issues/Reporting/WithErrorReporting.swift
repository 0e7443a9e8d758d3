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
///   - reporters: The reporters for the error and for issues during the operation. Nil keeps the current ones.
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
/// This version is for a message that is not a literal; nil for none. Otherwise the same as the version with an
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
/// The result is not wrapped in another optional. Otherwise the same as the version for other results.
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
/// This version is for a message that is not a literal; nil for none. Otherwise the same as the version with an
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
/// This version is for a message that is not a literal; nil for none. Otherwise the same as the version with an
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
/// This version is for a message that is not a literal; nil for none. Otherwise the same as the version with an
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
    /// Returns the current scope with the given reporters. If they are nil, the scope is unchanged.
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
