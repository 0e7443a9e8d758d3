internal import Synchronization

/// Something small that happened before an issue.
public struct IssueBreadcrumb: Hashable, Sendable {
    /// When it happened.
    public var timestamp: IssueTimestamp
    /// What happened.
    public var message: String
    /// Facts that go with it, those of the scopes around it included.
    public var metadata: IssueMetadata

    /// What a trail keeps of facts, of a message, in bytes.
    private static let metadataLimit = 1024
    private static let messageLimit = 512

    init(_ message: String, metadata: IssueMetadata) {
        timestamp = .now
        self.message = message.utf8.count <= Self.messageLimit ? message : "\(message.prefix(Self.messageLimit / 4))…"
        let bytes = metadata.estimatedBytes
        self.metadata = bytes <= Self.metadataLimit ? metadata : [.omittedBytes: .init(bytes)]
    }

    var fact: IssueMetadata.Value {
        var fact: IssueMetadata = ["at": .init(timestamp.description), "message": .init(message)]
        if !metadata.isEmpty { fact["metadata"] = .init(metadata) }
        return .init(fact)
    }
}

/// The last small things that happened, oldest first.
final class BreadcrumbTrail: Sendable {
    /// That of the process.
    static let process = BreadcrumbTrail()

    private static let capacity = 30
    private let kept: Mutex<[IssueBreadcrumb]>

    init(_ crumbs: [IssueBreadcrumb] = []) {
        kept = Mutex(crumbs)
    }

    /// As they are now; costs no copy.
    var crumbs: [IssueBreadcrumb] { kept.withLock { $0 } }

    func leave(_ crumb: IssueBreadcrumb) {
        kept.withLock { kept in
            if kept.count >= Self.capacity { kept.removeFirst(kept.count - Self.capacity + 1) }
            kept.append(crumb)
        }
    }
}

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
