internal import Synchronization

extension IssueReporters {
    /// A closure that returns the ids of the trace, the request and the user for which the current task works. Nil by
    /// default.
    ///
    /// ```swift
    /// IssueReporters.context = {
    ///     IssueContext(traceID: Tracing.current?.traceID, spanID: Tracing.current?.spanID, user: Session.current?.user)
    /// }
    /// ```
    ///
    /// Ids of `withIssueContext` and of the report take precedence.
    ///
    /// It is called once for each report, in the reporting task, so that it can read task-local values. It must not
    /// block. Issues that it reports itself go to standard error. A report without reporters does not call it.
    public static var context: (@Sendable () -> IssueContext)? {
        get { ContextHook.closure.withLock { $0 } }
        set {
            // The old closure is released outside the lock, since the deinit of an object it holds may report an issue.
            var closure = newValue
            ContextHook.closure.withLock {
                swap(&$0, &closure)
                ContextHook.isSet.store(newValue != nil, ordering: .releasing)
            }
        }
    }
}

/// The closure of the application that returns the context of the current task.
enum ContextHook {
    fileprivate static let closure = Mutex<(@Sendable () -> IssueContext)?>(nil)
    // Separate from the closure, since most applications have none.
    fileprivate static let isSet = Atomic(false)

    /// Returns the context of the current task. Nil if neither the scope nor the closure has one.
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
        // A report of the closure, or of a reporter, must not call the closure again.
        guard !box.isReporting, let closure = closure.withLock({ $0 }) else { return IssueContext() }
        let scope = box.forReporters()
        defer { scope.endWork() }
        return ReportingScope.$box.withValue(scope) { closure() }
    }
}

/// The ids of a scope or a report. A reference, so that both stay small and are copied fast.
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
/// Ids that the context lacks come from outer scopes, or else from ``IssueReporters/context``. Ids that are given to an
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

extension ReportingScope {
    fileprivate static func identified(by context: IssueContext) -> Box {
        changed { scope in
            scope.context = ScopeContext(scope.context.map { context.completed(by: $0.ids) } ?? context)
        }
    }
}

extension IssueContext {
    /// The approximate size in memory in bytes.
    var estimatedBytes: Int {
        values.reduce(0) { $0 + 16 + $1.value.utf8.count }
    }

    /// Returns the context, with the ids that it lacks taken from another one.
    fileprivate func completed(by other: IssueContext) -> IssueContext {
        IssueContext(
            traceID: traceID ?? other.traceID, spanID: traceID == nil ? spanID ?? other.spanID : spanID,
            requestID: requestID ?? other.requestID, user: user ?? other.user)
    }
}

extension IssueReport {
    /// Creates a report for a location that is known at run time, for example that of a logger or of a macro.
    ///
    /// - Parameters:
    ///   - message: A description of what went wrong.
    ///   - level: The level of the issue.
    ///   - metadata: Metadata of the issue.
    ///   - fingerprint: The text by which the issue is grouped instead of its message and location. Nil or an empty text
    ///     uses that of `withIssueFingerprint`, or else lets the daemon choose.
    ///   - context: The ids of the trace, the request and the user. Missing ids are taken from `withIssueContext`
    ///     and ``IssueReporters/context``.
    ///   - site: The reported location.
    public init(
        _ message: IssueText, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil, context: IssueContext = IssueContext(), site: IssueSite
    ) {
        self.init(note: message, level: level, metadata: metadata, fingerprint: fingerprint, site: site)
        complete(context)
    }

    /// Creates a report for a location that is known at run time, with a message that is not a literal; nil for none.
    /// Otherwise like the version with an ``IssueText``.
    @_disfavoredOverload
    public init(
        _ message: String?, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil, context: IssueContext = IssueContext(), site: IssueSite
    ) {
        self.init(
            note: IssueText.plain(message), level: level, metadata: metadata, fingerprint: fingerprint, site: site)
        complete(context)
    }

    /// Creates a report for a caught error and a location that is known at run time. `message` describes what the
    /// program was doing when the error occurred. Otherwise like the version with a message only.
    public init(
        _ error: any Error, _ message: IssueText, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil, context: IssueContext = IssueContext(), site: IssueSite
    ) {
        self.init(error: error, note: message, level: level, metadata: metadata, fingerprint: fingerprint, site: site)
        complete(context)
    }

    /// Creates a report for a caught error and a location that is known at run time, with a message that is not a
    /// literal; nil for none. Otherwise like the version with an ``IssueText``.
    @_disfavoredOverload
    public init(
        _ error: any Error, _ message: String? = nil, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil, context: IssueContext = IssueContext(), site: IssueSite
    ) {
        self.init(
            error: error, note: IssueText.plain(message), level: level, metadata: metadata, fingerprint: fingerprint,
            site: site)
        complete(context)
    }

    private mutating func complete(_ context: IssueContext) {
        if !context.isEmpty { self.context = context.completed(by: self.context) }
    }
}

/// Reports an issue that was created before, for example with a source location that is known at run time.
///
/// ```swift
/// reportIssue(IssueReport(message, level: .error, site: IssueSite(fileID: file, line: line, function: function)))
/// ```
///
/// - Parameter report: The issue.
public func reportIssue(_ report: IssueReport) {
    Reporting.report(report)
}
