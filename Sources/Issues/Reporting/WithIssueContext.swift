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
