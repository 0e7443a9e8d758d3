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

/// Lets all reports of an operation name one place, such as the caller of a test's support function.
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
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueContext<R>(
    fileID: StaticString, filePath: StaticString, line: UInt, column: UInt, operation: () throws -> R
) rethrows -> R {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return try ReportingScope.$box.withValue(ReportingScope.changed { $0.site = site }, operation: operation)
}

/// Lets all reports of an asynchronous operation name one place.
///
/// An asynchronous version of ``withIssueContext(fileID:filePath:line:column:operation:)``.
///
/// - Parameters:
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - isolation: Where the operation runs.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueContext<R>(
    fileID: StaticString, filePath: StaticString, line: UInt, column: UInt,
    isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return try await ReportingScope.$box.withValue(ReportingScope.changed { $0.site = site }, operation: operation)
}

/// Adds metadata to every issue that is reported during an operation.
///
/// Of two equal keys the call's own wins over a scope's, and an inner scope's
/// over an outer one's.
///
/// ```swift
/// withIssueMetadata(["request_id": "\(request.id)"]) {
///     handle(request)
/// }
/// ```
///
/// - Parameters:
///   - metadata: What to add.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueMetadata<R>(_ metadata: IssueMetadata, operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.adding(metadata), operation: operation)
}

/// Adds metadata to every issue that is reported during an asynchronous operation.
///
/// An asynchronous version of `withIssueMetadata`.
///
/// - Parameters:
///   - metadata: What to add.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueMetadata<R>(_ metadata: IssueMetadata, operation: () async throws -> R) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.adding(metadata), operation: operation)
}

extension ReportingScope {
    fileprivate static func adding(_ metadata: IssueMetadata) -> Box {
        changed { $0.metadata = $0.metadata.merging(metadata) }
    }
}
