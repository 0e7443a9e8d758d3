internal import Synchronization

/// Expects that an operation reports issues, and that all of them are as they should be.
///
/// Nobody else is told of them. If none is reported, or one does not match,
/// that is reported, and so fails a test.
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
///   - message: What the issue would be good for.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - body: What to run.
///   - issueMatcher: Whether an issue is one that was expected.
public func expectReportsIssue(
    _ message: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: () throws -> Void, matching issueMatcher: (_ issue: ReportedIssue) -> Bool
) rethrows {
    let collector = IssueCollector()
    try withIssueReporters([collector], operation: body)
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    collector.judge(message, at: site, matching: issueMatcher)
}

/// Expects that an asynchronous operation reports issues, and that all of them are as they should be.
///
/// An asynchronous version of
/// `expectReportsIssue`.
///
/// - Parameters:
///   - message: What the issue would be good for.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - line: The line.
///   - column: The column.
///   - body: What to run.
///   - issueMatcher: Whether an issue is one that was expected.
public func expectReportsIssue(
    _ message: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: () async throws -> Void, matching issueMatcher: (_ issue: ReportedIssue) -> Bool
) async rethrows {
    let collector = IssueCollector()
    try await withIssueReporters([collector], operation: body)
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    collector.judge(message, at: site, matching: issueMatcher)
}

/// Keeps what is reported, for a test to look at.
final class IssueCollector: IssueSink {
    private let kept = Mutex<[ReportedIssue]>([])

    func receive(_ report: IssueReport) {
        kept.withLock { $0.append(ReportedIssue(report)) }
    }

    /// Reports what is wrong with the issues that came: none at all, or one that does not match.
    func judge(
        _ message: () -> String?, at site: IssueSite, matching issueMatcher: (ReportedIssue) -> Bool
    ) {
        let issues = kept.withLock { $0 }
        func complain(_ text: String) {
            Reporting.report(nil, { text }, level: .error, metadata: { [:] }, at: site)
        }
        // The texts are those of swift-issue-reporting, which tests compare with.
        guard !issues.isEmpty else {
            let words = message() ?? ""
            return complain("Expected issue to be reported\(words.isEmpty ? "" : ": \(words)")")
        }
        for issue in issues where !issueMatcher(issue) { complain("Issue does not match: \(issue.description)") }
    }
}

/// An issue that was reported while a test expected one.
public struct ReportedIssue: Sendable {
    /// "Issue reported", and its message after a colon.
    public var description: String
    /// The error, if it was one.
    public var error: (any Error)?
    /// How serious it is.
    public var severity: IssueSeverity
    /// The source file, with its module.
    public var fileID: StaticString
    /// The path of the source file.
    public var filePath: StaticString
    /// The line.
    public var line: UInt
    /// The column.
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
/// Found once, by the test libraries that are loaded, or by the variables that
/// Bazel and others set. What the current task does is answered by
/// ``TestContext/current``.
public let isTesting: Bool = TestRun.isThere
