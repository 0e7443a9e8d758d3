internal import Synchronization

/// Counts the issues of an operation that is known to have some.
///
/// Swift Testing does this itself. XCTest on Linux cannot, and outside tests
/// there is nobody else.
final class KnownIssues: Sendable {
    private let counted = Atomic(0)

    var isEmpty: Bool { counted.load(ordering: .relaxed) == 0 }

    func count() {
        counted.add(1, ordering: .relaxed)
    }

    /// Says how the operation ended: with an error, with issues, or as if nothing were wrong.
    func judge(_ error: (any Error)?, _ message: String?, isIntermittent: Bool, at site: IssueSite) {
        if let error {
            Reporting.expect(error, { message }, at: site, by: ReportingScope.current.reporters.reporters)
        } else if isEmpty, !isIntermittent {
            // The text is Swift Testing's.
            let text = "Known issue was not recorded\(message.map { ": \($0)" } ?? "")"
            Reporting.report(nil, { text }, level: .error, metadata: { [:] }, at: site)
        }
    }
}

/// Runs an operation that is known to report issues or to throw, and reports only that it does not.
///
/// The name that `_withKnownIssue`
/// had in version 1 of swift-issue-reporting, and has in public here.
///
/// - Parameters:
///   - message: What is known.
///   - isIntermittent: Whether it happens now and then only.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - body: What to run.
public func withExpectedIssue(
    _ message: String? = nil, isIntermittent: Bool = false,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: () throws -> Void
) {
    _withKnownIssue(
        message, isIntermittent: isIntermittent, fileID: fileID, filePath: filePath, line: line, column: column, body)
}

/// Runs an asynchronous operation that is known to report issues or to throw, and reports only that it does not.
///
/// An asynchronous version of ``withExpectedIssue(_:isIntermittent:fileID:filePath:line:column:_:)``.
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
public func withExpectedIssue(
    _ message: String? = nil, isIntermittent: Bool = false, isolation: isolated (any Actor)? = #isolation,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: _AsyncThrowingBody
) async {
    await _withKnownIssue(
        message, isIntermittent: isIntermittent, isolation: isolation, fileID: fileID, filePath: filePath, line: line,
        column: column, body)
}

/// The operation that an asynchronous ``_withKnownIssue(_:isIntermittent:isolation:fileID:filePath:line:column:_:)``
/// runs.
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
