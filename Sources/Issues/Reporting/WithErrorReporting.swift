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
    return Reporting.catching(message, to: reporters, at: site, body)
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
    return Reporting.catching({ IssueText.plain(message()) }, to: reporters, at: site, body)
}

/// Runs an operation with an optional result and reports the error that it throws.
///
/// The result is not wrapped in another optional. Otherwise the same as the version for other results.
public func withErrorReporting<R>(
    _ message: @autoclosure () -> IssueText, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () throws -> R?
) -> R? {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return Reporting.catching(message, to: reporters, at: site, body) ?? nil
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
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return Reporting.catching({ IssueText.plain(message()) }, to: reporters, at: site, body) ?? nil
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
    return await Reporting.catching(message, to: reporters, at: site, body)
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
    return await Reporting.catching({ IssueText.plain(message()) }, to: reporters, at: site, body)
}

/// Runs an asynchronous operation with an optional result and reports the error that it throws.
///
/// This is the asynchronous version of `withErrorReporting` for optional results.
public func withErrorReporting<R>(
    _ message: @autoclosure () -> IssueText, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () async throws -> sending R?
) async -> R? {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await Reporting.catching(message, to: reporters, at: site, body) ?? nil
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
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await Reporting.catching({ IssueText.plain(message()) }, to: reporters, at: site, body) ?? nil
}

extension Reporting {
    /// Runs an operation and reports the error that it throws, unless it is a `CancellationError`. Nil reporters keep the
    /// current ones.
    fileprivate static func catching<R>(
        _ message: () -> IssueText?, to reporters: [any IssueReporter]?, at site: IssueSite, _ body: () throws -> R
    ) -> R? {
        let box = reporters.map { ReportingScope.replacingReporters(with: $0) } ?? ReportingScope.box
        return ReportingScope.$box.withValue(box) {
            do {
                return try body()
            } catch {
                if !(error is CancellationError) { report(error, message, at: site) }
                return nil
            }
        }
    }

    fileprivate static func catching<R>(
        _ message: () -> IssueText?, to reporters: [any IssueReporter]?, at site: IssueSite,
        _ body: () async throws -> sending R
    ) async -> R? {
        let box = reporters.map { ReportingScope.replacingReporters(with: $0) } ?? ReportingScope.box
        return await ReportingScope.$box.withValue(box) {
            do {
                return try await body()
            } catch {
                if !(error is CancellationError) { report(error, message, at: site) }
                return nil
            }
        }
    }
}
