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
