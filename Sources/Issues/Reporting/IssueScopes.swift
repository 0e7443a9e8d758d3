internal import Synchronization

/// Runs an operation and attributes all issues that it reports to one source location.
///
/// Use it, for example, in a helper function of a test to report the location of its caller.
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
///   - fileID: The file ID of the location.
///   - filePath: The file path of the location.
///   - line: The line of the location.
///   - column: The column of the location.
///   - operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withIssueContext<R>(
    fileID: StaticString, filePath: StaticString, line: UInt, column: UInt, operation: () throws -> R
) rethrows -> R {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return try ReportingScope.$box.withValue(ReportingScope.changed { $0.site = site }, operation: operation)
}

/// Runs an asynchronous operation and attributes all issues that it reports to one source location.
///
/// This is the asynchronous version of ``withIssueContext(fileID:filePath:line:column:operation:)``.
public func withIssueContext<R>(
    fileID: StaticString, filePath: StaticString, line: UInt, column: UInt,
    isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return try await ReportingScope.$box.withValue(ReportingScope.changed { $0.site = site }, operation: operation)
}

/// Runs an operation and adds metadata to every issue that it reports.
///
/// For equal keys, the metadata of the reporting call takes precedence over the metadata of scopes, and inner scopes
/// take precedence over outer ones.
///
/// ```swift
/// withIssueMetadata(["request_id": "\(request.id)"]) {
///     handle(request)
/// }
/// ```
///
/// - Parameters:
///   - metadata: The metadata to add.
///   - operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withIssueMetadata<R>(_ metadata: IssueMetadata, operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.adding(metadata), operation: operation)
}

/// Runs an asynchronous operation and adds metadata to every issue that it reports.
///
/// This is the asynchronous version of `withIssueMetadata`.
public func withIssueMetadata<R>(_ metadata: IssueMetadata, operation: () async throws -> R) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.adding(metadata), operation: operation)
}

/// Runs an operation and gives every issue that it reports a fingerprint.
///
/// If a user's application reports several issues with the same fingerprint, the daemon treats them as one issue,
/// regardless of their messages and locations. A fingerprint of the reporting call takes precedence over the
/// fingerprints of scopes, and an inner scope takes precedence over outer ones.
///
/// - Parameters:
///   - fingerprint: The fingerprint. Nil or an empty string lets the daemon compute it, even if an outer scope has one.
///   - operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withIssueFingerprint<R>(_ fingerprint: String?, operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.grouping(by: fingerprint), operation: operation)
}

/// Runs an asynchronous operation and gives every issue that it reports a fingerprint.
///
/// This is the asynchronous version of `withIssueFingerprint`.
public func withIssueFingerprint<R>(_ fingerprint: String?, operation: () async throws -> R) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.grouping(by: fingerprint), operation: operation)
}

extension IssueReporters {
    /// A closure that returns the ids of the trace, the request and the user that the current task works for. Nil by
    /// default.
    ///
    /// ```swift
    /// IssueReporters.context = {
    ///     IssueContext(
    ///         traceID: Tracing.current?.traceID, spanID: Tracing.current?.spanID, user: Session.current?.user)
    /// }
    /// ```
    ///
    /// Ids of `withIssueContext` and of the report take precedence.
    ///
    /// The closure is called when an ``IssueReport`` is created, in the reporting task, so that it can read task-local
    /// values. It must not block. Issues that the closure itself reports go to standard error. `reportIssue` does not
    /// call the closure if there are neither reporters nor responders.
    public static var context: (@Sendable () -> IssueContext)? {
        get { ContextHook.closure.withLock { $0 } }
        set { ContextHook.closure.replace(with: newValue, setting: ContextHook.isSet, to: newValue != nil) }
    }
}

extension Mutex where Value: Sendable {
    /// Replaces the value, and sets a flag under the lock. The old value is released outside the lock, since the deinit
    /// of an object it holds may report an issue.
    func replace(with newValue: Value, setting flag: borrowing Atomic<Bool>, to isSet: Bool) {
        var value = newValue
        withLock {
            swap(&$0, &value)
            flag.store(isSet, ordering: .releasing)
        }
    }
}

/// The closure of the application that returns the context of the current task.
enum ContextHook {
    fileprivate static let closure = Mutex<(@Sendable () -> IssueContext)?>(nil)
    // Separate from the closure, so that a report takes no lock in an application without one.
    fileprivate static let isSet = Atomic(false)

    /// Returns the context of the current task. Nil if the scope has none and no closure is set.
    ///
    /// - Parameter box: The scope of the current task.
    @inline(__always)
    static func context(in box: ReportingScope.Box) -> ScopeContext? {
        guard isSet.load(ordering: .acquiring) else { return box.scope.context }
        let hook = evaluate(in: box)
        return ScopeContext(box.scope.context?.ids.completed(by: hook) ?? hook)
    }

    @inline(never)
    private static func evaluate(in box: ReportingScope.Box) -> IssueContext {
        // An issue that the closure or a reporter reports must not call the closure again.
        guard !box.isReporting, let closure = closure.withLock({ $0 }) else { return IssueContext() }
        let scope = box.forReporters()
        defer { scope.endWork() }
        return ReportingScope.$box.withValue(scope) { closure() }
    }
}

/// The ids of a scope or a report. A class, so that scopes and reports stay small and are cheap to copy.
final class ScopeContext: Sendable {
    let ids: IssueContext

    init(_ ids: IssueContext) {
        self.ids = ids
    }
}

/// Runs an operation and gives every issue that it reports the ids of a trace, a request or a user.
///
/// ```swift
/// try await withIssueContext(IssueContext(requestID: request.id)) {
///     try await handle(request)
/// }
/// ```
///
/// Ids that the context lacks come from outer scopes, or otherwise from ``IssueReporters/context``. A span belongs to
/// its trace, so a context with a trace id does not get a span id from either of them. Ids that are given to an
/// ``IssueReport`` take precedence.
///
/// - Parameters:
///   - context: The ids.
///   - operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withIssueContext<R>(_ context: IssueContext, operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.identified(by: context), operation: operation)
}

/// Runs an asynchronous operation and gives every issue that it reports the ids of a trace, a request or a user.
///
/// This is the asynchronous version of `withIssueContext`.
public func withIssueContext<R>(_ context: IssueContext, operation: () async throws -> R) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.identified(by: context), operation: operation)
}

extension IssueContext {
    /// The approximate size in memory in bytes.
    var estimatedBytes: Int {
        values.reduce(0) { $0 + 16 + $1.value.utf8.count }
    }

    /// Returns the context, with the ids that it lacks taken from `other`. A span belongs to its trace, so a context
    /// with a trace id does not get the span id of `other`.
    func completed(by other: IssueContext) -> IssueContext {
        var context = self
        for field in Field.allCases where self[field] == nil { context[field] = other[field] }
        if traceID != nil { context.spanID = spanID }
        return context
    }
}

/// An event that happened before an issue and may help to explain it.
public struct IssueBreadcrumb: Hashable, Sendable {
    /// The time of the event.
    public var timestamp: IssueTimestamp
    /// A description of the event.
    public var message: String
    /// Metadata of the event, including the metadata of the scopes around the call. If it had more than about 1024
    /// bytes, it was replaced with its approximate size.
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

    /// The breadcrumb as a metadata value.
    var metadataValue: IssueMetadata.Value {
        var members: IssueMetadata = ["at": .init(timestamp.description), "message": .init(message)]
        if !metadata.isEmpty { members["metadata"] = .init(metadata) }
        return .init(members)
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
///   - message: A description of the event. What exceeds 512 bytes is replaced with an ellipsis.
///   - metadata: Metadata of the event, added to that of the scopes around the call. If the result has more than about
///     1 KiB, only its size is kept.
public func leaveBreadcrumb(_ message: IssueText, metadata: IssueMetadata = [:]) {
    leaveBreadcrumb(message.text, metadata: metadata)
}

/// Records an event with a message that is not a literal. Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func leaveBreadcrumb(_ message: String, metadata: IssueMetadata = [:]) {
    let scope = ReportingScope.current
    scope.trail.leave(IssueBreadcrumb(message, metadata: scope.metadata.merging(metadata)))
}

/// Runs an operation with separate breadcrumbs, so that those of concurrent requests do not mix.
///
/// The operation starts with the current breadcrumbs. Those that it adds are discarded when it ends.
///
/// - Parameter operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withBreadcrumbs<R>(operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.branchingOff(), operation: operation)
}

/// Runs an asynchronous operation with separate breadcrumbs.
///
/// This is the asynchronous version of `withBreadcrumbs`.
public func withBreadcrumbs<R>(
    isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.branchingOff(), operation: operation)
}

extension ReportingScope {
    fileprivate static func grouping(by fingerprint: String?) -> Box {
        changed { $0.fingerprint = fingerprint?.isEmpty == true ? nil : fingerprint }
    }

    fileprivate static func adding(_ metadata: IssueMetadata) -> Box {
        changed { $0.metadata = $0.metadata.merging(metadata) }
    }

    fileprivate static func identified(by context: IssueContext) -> Box {
        changed { scope in
            scope.context = ScopeContext(scope.context.map { context.completed(by: $0.ids) } ?? context)
        }
    }

    fileprivate static func branchingOff() -> Box {
        changed { $0.trail = BreadcrumbTrail($0.trail.crumbs) }
    }
}
