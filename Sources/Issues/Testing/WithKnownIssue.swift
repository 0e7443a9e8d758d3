/// The operation that an asynchronous ``_withKnownIssue(_:isIntermittent:isolation:fileID:filePath:line:column:_:)`` runs.
public typealias _AsyncThrowingBody = @concurrent () async throws -> Void

/// Runs an operation that is known to report issues or to throw, and reports only that it does not.
///
/// In Swift Testing this is `withKnownIssue`, so whatever fails the test
/// counts. Elsewhere, in XCTest too, what is reported by way of this library
/// counts, on the operation's task and its children.
///
/// - Parameters:
///   - message: What is known.
///   - isIntermittent: Whether it happens now and then only.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - body: What to run.
public func _withKnownIssue(
    _ message: String? = nil, isIntermittent: Bool = false,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: () throws -> Void
) {
    let site = ReportingScope.current.site ?? IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    if isTesting, TestRun.usesSwiftTesting,
        TestingLibrary.withKnownIssue(message, isIntermittent: isIntermittent, at: site, body)
    {
        return
    }
    let known = KnownIssues()
    let thrown = ReportingScope.$box.withValue(ReportingScope.changed { $0.knownIssues = known }) {
        do {
            try body()
            return nil as (any Error)?
        } catch {
            return error
        }
    }
    known.judge(thrown, message, isIntermittent: isIntermittent, at: site)
}

/// Runs an asynchronous operation that is known to report issues or to throw, and reports only that it does not.
///
/// An asynchronous version of ``_withKnownIssue(_:isIntermittent:fileID:filePath:line:column:_:)``.
///
/// - Parameters:
///   - message: What is known.
///   - isIntermittent: Whether it happens now and then only.
///   - isolation: Where the call stands.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - body: What to run.
public func _withKnownIssue(
    _ message: String? = nil, isIntermittent: Bool = false, isolation: isolated (any Actor)? = #isolation,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: _AsyncThrowingBody
) async {
    let site = ReportingScope.current.site ?? IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    if isTesting, TestRun.usesSwiftTesting,
        await TestingLibrary.withKnownIssue(
            message, isIntermittent: isIntermittent, isolation: isolation, at: site, body)
    {
        return
    }
    let known = KnownIssues()
    let thrown = await ReportingScope.$box.withValue(ReportingScope.changed { $0.knownIssues = known }) {
        do {
            try await body()
            return nil as (any Error)?
        } catch {
            return error
        }
    }
    known.judge(thrown, message, isIntermittent: isIntermittent, at: site)
}
