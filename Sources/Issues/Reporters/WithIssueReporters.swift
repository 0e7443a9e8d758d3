/// Replaces the reporters during an operation.
///
/// ```swift
/// withIssueReporters([]) {
///     // Issues in here are nobody's business.
/// }
/// ```
///
/// - Parameters:
///   - reporters: Who is told instead; an empty list silences.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueReporters<R>(_ reporters: [any IssueReporter], operation: () throws -> R) rethrows -> R {
    try IssueReporters.$box.withValue(ReporterBox(reporters), operation: operation)
}

/// Replaces the reporters during an asynchronous operation.
///
/// An asynchronous version of ``withIssueReporters(_:operation:)-(_,()->R)``.
///
/// - Parameters:
///   - reporters: Who is told instead; an empty list silences.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueReporters<R>(
    _ reporters: [any IssueReporter], operation: () async throws -> R
) async rethrows -> R {
    try await IssueReporters.$box.withValue(ReporterBox(reporters), operation: operation)
}
