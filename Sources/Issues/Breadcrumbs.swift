internal import Synchronization

/// An event that happened before an issue and may help to explain it.
public struct IssueBreadcrumb: Hashable, Sendable {
    /// The time of the event.
    public var timestamp: IssueTimestamp
    /// A description of the event.
    public var message: String
    /// Metadata of the event, including that of the scopes around the call.
    public var metadata: IssueMetadata

    /// The maximum sizes of an event's metadata and message, in bytes.
    private static let metadataLimit = 1024
    private static let messageLimit = 512

    init(_ message: String, metadata: IssueMetadata) {
        timestamp = .now
        self.message = message.truncated(toBytes: Self.messageLimit)
        let bytes = metadata.estimatedBytes
        self.metadata = bytes <= Self.metadataLimit ? metadata : [.omittedBytes: .init(bytes)]
    }

    var fact: IssueMetadata.Value {
        var fact: IssueMetadata = ["at": .init(timestamp.description), "message": .init(message)]
        if !metadata.isEmpty { fact["metadata"] = .init(metadata) }
        return .init(fact)
    }
}

/// The most recent breadcrumbs, oldest first.
final class BreadcrumbTrail: Sendable {
    /// The trail of the process, outside all `withBreadcrumbs` scopes.
    static let process = BreadcrumbTrail()

    private static let capacity = 30
    private let stored: Mutex<[IssueBreadcrumb]>

    init(_ crumbs: [IssueBreadcrumb] = []) {
        stored = Mutex(crumbs)
    }

    /// The current breadcrumbs. The array is shared, not copied.
    var crumbs: [IssueBreadcrumb] { stored.withLock { $0 } }

    func leave(_ crumb: IssueBreadcrumb) {
        stored.withLock { stored in
            if stored.count >= Self.capacity { stored.removeFirst(stored.count - Self.capacity + 1) }
            stored.append(crumb)
        }
    }
}

/// Records an event that may help to explain a later issue.
///
/// Each issue of level ``IssueLevel/error`` or above includes the last thirty breadcrumbs. They are not reported
/// otherwise.
///
/// ```swift
/// leaveBreadcrumb("cache miss", metadata: ["key": key])
/// ```
///
/// - Parameters:
///   - message: A description of the event. It is cut to 512 bytes.
///   - metadata: Metadata of the event, added to that of the scopes around the call. If the result has more than about
///     1 KiB, only its size is kept.
public func leaveBreadcrumb(_ message: IssueText, metadata: IssueMetadata = [:]) {
    leaveBreadcrumb(message.text, metadata: metadata)
}

/// Records an event with a message that is not a literal. Otherwise like the version with an ``IssueText``.
@_disfavoredOverload
public func leaveBreadcrumb(_ message: String, metadata: IssueMetadata = [:]) {
    let scope = ReportingScope.current
    scope.trail.leave(IssueBreadcrumb(message, metadata: scope.metadata.merging(metadata)))
}

/// Runs an operation with breadcrumbs of its own, so that concurrent requests of a server do not mix theirs.
///
/// The operation starts with the current breadcrumbs. Those that it adds are discarded when it ends.
///
/// - Parameter operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withBreadcrumbs<R>(operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.branchingOff(), operation: operation)
}

/// Runs an asynchronous operation with breadcrumbs of its own.
///
/// This is the asynchronous version of `withBreadcrumbs`.
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
