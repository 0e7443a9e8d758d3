/// Adds metadata to every issue that is reported during an operation.
///
/// Of two equal keys the call's own wins over a scope's, and an inner scope's
/// over an outer one's.
///
/// ```swift
/// withIssueMetadata(["request_id": "\(request.id)"]) {
///     handle(request)
/// }
/// ```
///
/// - Parameters:
///   - metadata: What to add.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueMetadata<R>(_ metadata: IssueMetadata, operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.adding(metadata), operation: operation)
}

/// Adds metadata to every issue that is reported during an asynchronous operation.
///
/// An asynchronous version of `withIssueMetadata`.
///
/// - Parameters:
///   - metadata: What to add.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueMetadata<R>(_ metadata: IssueMetadata, operation: () async throws -> R) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.adding(metadata), operation: operation)
}

extension ReportingScope {
    fileprivate static func adding(_ metadata: IssueMetadata) -> Box {
        changed { $0.metadata = $0.metadata.merging(metadata) }
    }
}
