internal import Synchronization

/// The responders that are in effect at a point of the program, as a value.
///
/// Scopes extend to child tasks and to tasks created with `Task`, but not to detached tasks, nor to closures that are
/// passed to another thread or queue. Code that runs there can use the responders of another scope:
///
/// ```swift
/// let responders = ErrorResponders.current
/// queue.async {
///     do { try work() } catch { responders.report(error) }
/// }
/// ```
public struct ErrorResponders: Sendable {
    private let scope: ReportingScope.Box

    /// The responders of the current scope, together with its other settings, such as reporters, metadata and context.
    public static var current: ErrorResponders {
        ErrorResponders(scope: ReportingScope.changed { $0.reportingBox = nil })
    }

    /// Runs an operation in the scope that these responders were taken from.
    private func inScope(_ operation: () -> Void) {
        let here = ReportingScope.here
        guard here.isReporting else { return ReportingScope.$box.withValue(scope, operation: operation) }
        // A reporter that is running on this thread must not be called for issues that it reports itself.
        var inside = scope.scope
        inside.reportingBox = here
        ReportingScope.$box.withValue(ReportingScope.Box(inside), operation: operation)
    }

    /// Reports an error in the scope that these responders were taken from.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - message: A description of what the program was doing when the error occurred.
    ///   - level: The level of the issue.
    ///   - metadata: Metadata of the issue. It takes precedence over the metadata of the scope and of the error.
    ///   - fileID: The file ID of the reported location. Defaults to the caller's.
    ///   - filePath: The file path of the reported location. Defaults to the caller's.
    ///   - line: The line of the reported location. Defaults to the caller's.
    ///   - column: The column of the reported location. Defaults to the caller's.
    ///   - function: The function of the reported location. Defaults to the caller's.
    public func report(
        _ error: any Error, _ message: @autoclosure () -> IssueText, level: IssueLevel = .error,
        metadata: @autoclosure () -> IssueMetadata = [:],
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
        function: StaticString = #function
    ) {
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
        inScope {
            _ = Reporting.report(error, message, level: level, metadata: metadata, at: site)
        }
    }

    /// Reports an error with a message that is not a literal; nil for none. Otherwise the same as the version with an
    /// ``IssueText``.
    @_disfavoredOverload
    public func report(
        _ error: any Error, _ message: @autoclosure () -> String? = nil, level: IssueLevel = .error,
        metadata: @autoclosure () -> IssueMetadata = [:],
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
        function: StaticString = #function
    ) {
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
        inScope {
            _ = Reporting.report(error, { IssueText.plain(message()) }, level: level, metadata: metadata, at: site)
        }
    }

    /// Reports an issue in the scope that these responders were taken from. Otherwise the same as the version with an
    /// error.
    public func report(
        _ message: @autoclosure () -> IssueText, level: IssueLevel = .error,
        metadata: @autoclosure () -> IssueMetadata = [:],
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
        function: StaticString = #function
    ) {
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
        inScope {
            _ = Reporting.report(nil, message, level: level, metadata: metadata, at: site)
        }
    }

    /// Reports an issue with a message that is not a literal; nil for none. Otherwise the same as the version with an
    /// ``IssueText``.
    @_disfavoredOverload
    public func report(
        _ message: @autoclosure () -> String? = nil, level: IssueLevel = .error,
        metadata: @autoclosure () -> IssueMetadata = [:],
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
        function: StaticString = #function
    ) {
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
        inScope {
            _ = Reporting.report(nil, { IssueText.plain(message()) }, level: level, metadata: metadata, at: site)
        }
    }
}

extension ErrorResponders {
    private static let storage = Mutex<(responders: [ErrorResponder], chain: ResponderChain)>(([], .end))

    // A separate atomic, since every report reads it.
    private static let hasRoot = Atomic(false)

    static var isRootEmpty: Bool { !hasRoot.load(ordering: .acquiring) }

    /// The responders of the process, which are outside of all scopes. The first one runs first. Empty by default.
    public static var root: [ErrorResponder] {
        get { storage.withLock { $0.responders } }
        set {
            let value = (responders: newValue, chain: ResponderChain(newValue, outside: .end))
            storage.replace(with: value, setting: hasRoot, to: !newValue.isEmpty)
        }
    }

    static var rootChain: ResponderChain {
        storage.withLock { $0.chain }
    }
}

extension ErrorResponder {
    /// The decision of a responder about an error.
    public enum Handling: Hashable, Sendable {
        /// The error is handled. No further responder and no reporter receives it.
        case handled
        /// The error is not handled. The next responder receives it or, if there is none, the reporters do.
        case notHandled
    }
}

extension IssueReport {
    /// The error that responders receive. A message without an error is wrapped in an ``IssueMessage``.
    package var propagatingError: any Error { error ?? IssueMessage(message) }
}

/// The error that responders receive for an issue that was reported as a message only.
public struct IssueMessage: Error, Hashable, Sendable, CustomStringConvertible {
    /// The message of the issue.
    public var message: String

    /// Creates an error with a message.
    ///
    /// - Parameter message: The message of the issue.
    public init(_ message: String) {
        self.message = message
    }

    /// The message of the issue.
    public var description: String { message }
}

/// The responders for a report, innermost first.
indirect enum ResponderChain: Sendable {
    case end
    /// The responders of the process. They are read when a report reaches them, not when the chain is created.
    case root
    case responder(ErrorResponder, outside: ResponderChain)

    init(_ responders: [ErrorResponder], outside: ResponderChain) {
        self = responders.reversed().reduce(outside) { .responder($1, outside: $0) }
    }

    /// The innermost responder and the chain outside of it; nil if the chain contains no responder.
    var first: (responder: ErrorResponder, outside: ResponderChain)? {
        switch self {
        case .end: nil
        case .responder(let responder, let outside): (responder, outside)
        case .root:
            switch ErrorResponders.rootChain {
            case .responder(let responder, let outside): (responder, outside)
            case .end, .root: nil
            }
        }
    }
}

extension ResponderChain {
    /// Whether the chain contains no responder.
    var isEmpty: Bool {
        switch self {
        case .end: true
        case .responder: false
        case .root: ErrorResponders.isRootEmpty
        }
    }
}

/// Runs an operation with responders for everything that is reported during it. Otherwise the same as the version with
/// a list.
public func withErrorResponders<R>(_ responders: ErrorResponder..., operation: () throws -> R) rethrows -> R {
    try withErrorResponders(responders, operation: operation)
}

/// Runs an operation with a list of responders for everything that is reported during it.
///
/// - Parameters:
///   - responders: The responders. The first one runs first, and all run before those of outer scopes.
///   - operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withErrorResponders<R>(_ responders: [ErrorResponder], operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.addingResponders(responders), operation: operation)
}

/// Runs an asynchronous operation with responders for everything that is reported during it.
///
/// This is the asynchronous version of `withErrorResponders`.
@_disfavoredOverload
public func withErrorResponders<R>(
    _ responders: ErrorResponder..., isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    // Disfavored, because with several responders the compiler would otherwise choose this version, and demand an
    // await, for a synchronous operation.
    try await withErrorResponders(responders, isolation: isolation, operation: operation)
}

/// Runs an asynchronous operation with a list of responders for everything that is reported during it.
///
/// This is the asynchronous version of `withErrorResponders`.
public func withErrorResponders<R>(
    _ responders: [ErrorResponder], isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.addingResponders(responders), operation: operation)
}

extension ReportingScope {
    fileprivate static func addingResponders(_ responders: [ErrorResponder]) -> Box {
        changed { $0.responders = ResponderChain(responders, outside: $0.responders) }
    }
}
