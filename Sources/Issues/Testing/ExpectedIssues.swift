internal import Synchronization

/// Runs an operation and expects that it reports at least one issue and that all its issues match.
///
/// Without a matcher, every issue matches. The current reporters do not receive the issues. If the operation reports no
/// issue, or one that does not match, this function reports that as an issue of its own, which fails the running test.
///
/// ```swift
/// expectReportsIssue {
///     cart.remove(article)
/// } matching: {
///     $0.description.contains("not in the cart")
/// }
/// ```
///
/// - Parameters:
///   - message: A text that is added to the failure if no issue is reported. Nil adds nothing.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
///   - body: The operation to run.
///   - issueMatcher: Returns `true` if `issue` was expected. Called once for each issue, after `body` has returned.
/// - Throws: The error that `body` throws. The collected issues are then not checked.
public func expectReportsIssue(
    _ message: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: () throws -> Void, matching issueMatcher: (_ issue: ReportedIssue) -> Bool = { _ in true }
) rethrows {
    let collector = IssueCollector()
    try withIssueReporters([collector], operation: body)
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    collector.check(message, at: site, matching: issueMatcher)
}

/// Runs an asynchronous operation and expects that it reports at least one issue and that all its issues match.
///
/// This is the asynchronous version of `expectReportsIssue`.
public func expectReportsIssue(
    _ message: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: () async throws -> Void, matching issueMatcher: (_ issue: ReportedIssue) -> Bool = { _ in true }
) async rethrows {
    let collector = IssueCollector()
    try await withIssueReporters([collector], operation: body)
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    collector.check(message, at: site, matching: issueMatcher)
}

/// A sink that keeps reported issues so that a test can check them.
final class IssueCollector: IssueSink {
    private let collected = Mutex<[ReportedIssue]>([])

    func receive(_ report: IssueReport) {
        collected.withLock { $0.append(ReportedIssue(report)) }
    }

    /// Reports a failure if there are no issues, and one for each issue that does not match.
    func check(
        _ message: () -> String?, at site: IssueSite, matching issueMatcher: (ReportedIssue) -> Bool
    ) {
        let issues = collected.withLock { $0 }
        func reportFailure(_ text: String) {
            Reporting.report(nil, { IssueText(plain: text) }, at: site)
        }
        // swift-issue-reporting uses the same texts, and tests compare with them.
        guard !issues.isEmpty else {
            let text = message() ?? ""
            return reportFailure("Expected issue to be reported\(text.isEmpty ? "" : ": \(text)")")
        }
        for issue in issues where !issueMatcher(issue) { reportFailure("Issue does not match: \(issue.description)") }
    }
}

/// An issue that was reported while a test expected one.
public struct ReportedIssue: Sendable {
    /// "Issue reported", followed by a colon and the message, the error's text or both, unless there is neither.
    public var description: String
    /// The reported error; nil if the issue is a message only.
    public var error: (any Error)?
    /// The severity of the issue.
    public var severity: IssueSeverity
    /// The file ID (`Module/File.swift`) of the reported location.
    public var fileID: StaticString
    /// The file path of the reported location.
    public var filePath: StaticString
    /// The line of the reported location.
    public var line: UInt
    /// The column of the reported location.
    public var column: UInt

    init(_ report: IssueReport) {
        let text = report.error.map { CaughtError.text($0, report.note) } ?? report.message
        description = text == IssueReport.defaultMessage ? text : "\(IssueReport.defaultMessage): \(text)"
        error = report.error
        severity = report.level.severity
        fileID = report.site.fileID
        filePath = report.site.filePath
        line = report.site.line
        column = report.site.column
    }
}

/// A counter for the issues of an operation that is known to report some.
///
/// Swift Testing counts them itself. XCTest on Linux cannot, and outside tests no library does.
final class KnownIssues: Sendable {
    private let counted = Atomic(0)

    var isEmpty: Bool { counted.load(ordering: .relaxed) == 0 }

    func countIssue() {
        counted.add(1, ordering: .relaxed)
    }

    /// Reports a thrown error as an expected issue. If the operation neither threw nor reported anything, reports that
    /// as an issue, unless the known issue is intermittent.
    func check(_ error: (any Error)?, _ message: String?, isIntermittent: Bool, at site: IssueSite) {
        if let error {
            Reporting.expect(error, { message }, at: site, by: ReportingScope.current.reporters.reporters)
        } else if isEmpty, !isIntermittent {
            // Swift Testing uses the same text.
            let text = "Known issue was not recorded\(message.map { ": \($0)" } ?? "")"
            Reporting.report(nil, { IssueText(plain: text) }, at: site)
        }
    }
}

/// Runs an operation that is known to report issues or to throw, and reports an issue if it does neither.
///
/// Does the same as `_withKnownIssue`, under the name that it had in version 1 of swift-issue-reporting.
///
/// - Parameters:
///   - message: A description of the known issue. Nil for none.
///   - isIntermittent: `true` if the issue occurs only sometimes. Its absence is then not reported.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
///   - body: The operation to run. An error that it throws counts as a known issue and is not rethrown.
public func withExpectedIssue(
    _ message: String? = nil, isIntermittent: Bool = false,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: () throws -> Void
) {
    _withKnownIssue(
        message, isIntermittent: isIntermittent, fileID: fileID, filePath: filePath, line: line, column: column, body)
}

/// Runs an asynchronous operation that is known to report issues or to throw, and reports an issue if it does neither.
///
/// This is the asynchronous version of ``withExpectedIssue(_:isIntermittent:fileID:filePath:line:column:_:)``.
public func withExpectedIssue(
    _ message: String? = nil, isIntermittent: Bool = false, isolation: isolated (any Actor)? = #isolation,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: _AsyncThrowingBody
) async {
    await _withKnownIssue(
        message, isIntermittent: isIntermittent, isolation: isolation, fileID: fileID, filePath: filePath, line: line,
        column: column, body)
}

/// The type of the operation of
/// ``_withKnownIssue(_:isIntermittent:isolation:fileID:filePath:line:column:_:)``, the asynchronous version.
public typealias _AsyncThrowingBody = @concurrent () async throws -> Void

/// Runs an operation that is known to report issues or to throw, and reports an issue if it does neither.
///
/// Under Swift Testing, this calls `withKnownIssue`, so everything that fails the test counts. Under XCTest and outside
/// tests, an issue counts only if it is reported with this library, in the operation's task or in a task that inherits
/// its scope. The parameters are the same as for `withExpectedIssue`.
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
    var thrown: (any Error)?
    do {
        try ReportingScope.$box.withValue(ReportingScope.changed { $0.knownIssues = known }, operation: body)
    } catch {
        thrown = error
    }
    known.check(thrown, message, isIntermittent: isIntermittent, at: site)
}

/// Runs an asynchronous operation that is known to report issues or to throw, and reports an issue if it does neither.
///
/// This is the asynchronous version of ``_withKnownIssue(_:isIntermittent:fileID:filePath:line:column:_:)``.
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
    var thrown: (any Error)?
    do {
        try await ReportingScope.$box.withValue(ReportingScope.changed { $0.knownIssues = known }, operation: body)
    } catch {
        thrown = error
    }
    known.check(thrown, message, isIntermittent: isIntermittent, at: site)
}
