internal import Synchronization

/// Runs an operation and expects that it reports at least one issue and that all its issues match.
///
/// Without a matcher, any issue is as expected. The issues are not sent to any other reporter. If the operation reports
/// no issue, or one that does not match, this function reports that as an issue of its own, which fails the running
/// test.
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
///   - issueMatcher: Returns whether `issue` was expected. Called once for each issue, after `body` has returned.
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

    /// Reports an error if there are no issues, and one for each issue that does not match.
    func check(
        _ message: () -> String?, at site: IssueSite, matching issueMatcher: (ReportedIssue) -> Bool
    ) {
        let issues = collected.withLock { $0 }
        func complain(_ text: String) {
            Reporting.report(nil, { IssueText(plain: text) }, level: .error, metadata: { [:] }, at: site)
        }
        // swift-issue-reporting uses the same texts, and tests compare with them.
        guard !issues.isEmpty else {
            let text = message() ?? ""
            return complain("Expected issue to be reported\(text.isEmpty ? "" : ": \(text)")")
        }
        for issue in issues where !issueMatcher(issue) { complain("Issue does not match: \(issue.description)") }
    }
}

/// An issue that was reported while a test expected one.
public struct ReportedIssue: Sendable {
    /// "Issue reported", followed by a colon and the message if there is one.
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

/// Whether this process runs tests.
///
/// The value is determined once, from the test libraries that are loaded and from how the process was started: its
/// executable's name, its arguments, and the variables that Bazel and other runners set. For the test that the current
/// task runs, see ``TestContext/current``.
public let isTesting: Bool = TestRun.isThere
