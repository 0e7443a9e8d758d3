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
    try ReportingScope.$box.withValue(ReportingScope.telling(reporters), operation: operation)
}

/// Replaces the reporters during an asynchronous operation.
///
/// An asynchronous version of `withIssueReporters`.
///
/// - Parameters:
///   - reporters: Who is told instead; an empty list silences.
///   - isolation: Where the operation runs.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueReporters<R>(
    _ reporters: [any IssueReporter], isolation: isolated (any Actor)? = #isolation,
    operation: () async throws -> R
) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.telling(reporters), operation: operation)
}

extension ReportingScope {
    /// The scope here with other reporters.
    static func telling(_ reporters: [any IssueReporter]) -> Box {
        changed {
            $0.reporters = ReporterBox(reporters)
            // A reporter that names others wants them told.
            $0.reportingBox = nil
        }
    }
}
