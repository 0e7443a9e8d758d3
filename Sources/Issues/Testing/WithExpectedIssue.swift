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
