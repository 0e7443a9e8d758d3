/// Remembers something small, for the case that an issue comes soon.
///
/// The last thirty go with each issue of level ``IssueLevel/error`` and above;
/// nobody is told of them otherwise.
///
/// ```swift
/// leaveBreadcrumb("cache miss", metadata: ["key": .init(key)])
/// ```
///
/// - Parameters:
///   - message: What happened; a long one is cut.
///   - metadata: Facts that go with it, beside those of the scopes around; too many are left out.
public func leaveBreadcrumb(_ message: String, metadata: IssueMetadata = [:]) {
    let scope = ReportingScope.current
    scope.trail.leave(IssueBreadcrumb(message, metadata: scope.metadata.merging(metadata)))
}

/// Gives an operation a trail of its own, so that a server's requests don't mix theirs.
///
/// It begins with what is there; what is left in it ends with the operation.
///
/// - Parameter operation: What to run.
/// - Returns: What the operation returns.
public func withBreadcrumbs<R>(operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.branchingOff(), operation: operation)
}

/// Gives an asynchronous operation a trail of its own.
///
/// An asynchronous version of `withBreadcrumbs`.
///
/// - Parameters:
///   - isolation: Where the operation runs.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withBreadcrumbs<R>(
    isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.branchingOff(), operation: operation)
}

extension ReportingScope {
    fileprivate static func branchingOff() -> Box {
        changed { $0.trail = BreadcrumbTrail($0.trail.crumbs) }
    }
}
