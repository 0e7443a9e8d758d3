/// Runs an operation, and reports an error that it throws.
///
/// ```swift
/// let image = withErrorReporting("Loading the picture") { try load(url) }
/// ```
///
/// A cancellation is no error: it ends the operation, and nobody is told.
///
/// - Parameters:
///   - message: What was being done.
///   - reporters: Who is told instead, of this error and of issues during the operation.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - body: What to run.
/// - Returns: What the operation returns, or nil if it threw.
public func withErrorReporting<R>(
    _ message: @autoclosure () -> String? = nil, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () throws -> R
) -> R? {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return ReportingScope.$box.withValue(ReportingScope.telling(ifGiven: reporters)) {
        do {
            return try body()
        } catch {
            Reporting.reportThrown(error, message, at: site)
            return nil
        }
    }
}

/// Runs an operation that may answer nil, and reports an error that it throws.
///
/// The same as `withErrorReporting`
/// without an optional within an optional.
///
/// - Parameters:
///   - message: What was being done.
///   - reporters: Who is told instead, of this error and of issues during the operation.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - body: What to run.
/// - Returns: What the operation returns, or nil if it threw.
public func withErrorReporting<R>(
    _ message: @autoclosure () -> String? = nil, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () throws -> R?
) -> R? {
    let result: R?? = withErrorReporting(
        message(), to: reporters, fileID: fileID, filePath: filePath, line: line, column: column, catching: body)
    return result ?? nil
}

/// Runs an asynchronous operation, and reports an error that it throws.
///
/// An asynchronous version of
/// `withErrorReporting`.
///
/// - Parameters:
///   - message: What was being done.
///   - reporters: Who is told instead, of this error and of issues during the operation.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - body: What to run.
/// - Returns: What the operation returns, or nil if it threw.
public func withErrorReporting<R>(
    _ message: @autoclosure () -> String? = nil, to reporters: [any IssueReporter]? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    catching body: () async throws -> sending R
) async -> R? {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await ReportingScope.$box.withValue(ReportingScope.telling(ifGiven: reporters)) {
        do {
            return try await body()
        } catch {
            Reporting.reportThrown(error, message, at: site)
            return nil
        }
    }
}

/// Runs an asynchronous operation that may answer nil, and reports an error that it throws.
///
/// An asynchronous version of
/// `withErrorReporting`.
///
/// - Parameters:
///   - message: What was being done.
///   - reporters: Who is told instead, of this error and of issues during the operation.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - body: What to run.
/// - Returns: What the operation returns, or nil if it threw.
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
    /// The scope here, with other reporters if some are given.
    fileprivate static func telling(ifGiven reporters: [any IssueReporter]?) -> Box {
        reporters.map { telling($0) } ?? box
    }
}

extension Reporting {
    /// Reports what an operation threw, unless it was only cancelled.
    fileprivate static func reportThrown(_ error: any Error, _ message: () -> String?, at site: IssueSite) {
        guard !(error is CancellationError) else { return }
        report(error, message, level: .error, metadata: { [:] }, at: site)
    }
}
