internal import Synchronization

/// The responders in force at some place, as a value to carry elsewhere.
///
/// Scopes reach into child tasks, and not into detached ones, other threads
/// and queues. Who goes there takes them along:
///
/// ```swift
/// let responders = ErrorResponders.current
/// queue.async {
///     do { try work() } catch { responders.report(error) }
/// }
/// ```
public struct ErrorResponders: Sendable {
    private let scope: ReportingScope.Box

    /// Those in force here, together with the reporters, metadata and context.
    public static var current: ErrorResponders {
        ErrorResponders(scope: ReportingScope.changed { $0.reportingBox = nil })
    }

    /// Reports an error as if it had been reported where these were taken.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - message: What was being done when it came.
    ///   - level: How serious it is.
    ///   - metadata: Facts that go with it.
    ///   - fileID: The source file, with its module.
    ///   - filePath: The path of the source file.
    ///   - line: The line.
    ///   - column: The column.
    ///   - function: The function.
    public func report(
        _ error: any Error, _ message: @autoclosure () -> String? = nil, level: IssueLevel = .error,
        metadata: @autoclosure () -> IssueMetadata = [:],
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
        function: StaticString = #function
    ) {
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
        ReportingScope.$box.withValue(scope) {
            _ = Reporting.report(error, message, level: level, metadata: metadata, at: site)
        }
    }

    /// Reports an issue as if it had been reported where these were taken.
    ///
    /// - Parameters:
    ///   - message: What went wrong.
    ///   - level: How serious it is.
    ///   - metadata: Facts that go with it.
    ///   - fileID: The source file, with its module.
    ///   - filePath: The path of the source file.
    ///   - line: The line.
    ///   - column: The column.
    ///   - function: The function.
    public func report(
        _ message: @autoclosure () -> String? = nil, level: IssueLevel = .error,
        metadata: @autoclosure () -> IssueMetadata = [:],
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
        function: StaticString = #function
    ) {
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
        ReportingScope.$box.withValue(scope) {
            _ = Reporting.report(nil, message, level: level, metadata: metadata, at: site)
        }
    }
}

extension ErrorResponders {
    private static let storage = Mutex<(responders: [ErrorResponder], chain: ResponderChain)>(([], .end))

    // Apart, since every report asks.
    private static let hasRoot = Atomic(false)

    static var isRootEmpty: Bool { !hasRoot.load(ordering: .acquiring) }

    /// The process's outermost, the first of them innermost; none at first.
    public static var root: [ErrorResponder] {
        get { storage.withLock { $0.responders } }
        set {
            // The old ones are let go outside the lock: what they hold may report.
            var value = (responders: newValue, chain: ResponderChain(newValue, outside: .end))
            storage.withLock {
                swap(&$0, &value)
                hasRoot.store(!newValue.isEmpty, ordering: .releasing)
            }
        }
    }

    static var rootChain: ResponderChain {
        storage.withLock { $0.chain }
    }
}

/// What a responder made of an error that it received.
public enum ErrorHandling: Hashable, Sendable {
    /// It is dealt with, and nobody else has to hear of it.
    case handled
    /// It climbs on to whoever lies further outside.
    case notHandled
}

/// A report on its way past the responders.
struct PropagatingReport: Sendable {
    var report: IssueReport

    /// What the responders are asked about: the error, or the message as one.
    var error: any Error { report.error ?? IssueMessage(report.message) }

    /// Hands it to the reporters now, without waiting for who lies further outside.
    func notifyReporters() {
        Reporting.notifyReporters(report)
    }
}

/// The error as which an issue without an error climbs past the responders.
public struct IssueMessage: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was reported.
    public var message: String

    /// An error of these words.
    public init(_ message: String) {
        self.message = message
    }

    /// What was reported.
    public var description: String { message }
}

/// The responders that a report meets, innermost first.
indirect enum ResponderChain: Sendable {
    case end
    /// Those of the process, as they are when a report gets there.
    case root
    case responder(ErrorResponder, outside: ResponderChain)

    init(_ responders: [ErrorResponder], outside: ResponderChain) {
        self = responders.reversed().reduce(outside) { .responder($1, outside: $0) }
    }

    /// The first responder, and what lies outside it.
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
    /// Whether nobody is asked.
    var isEmpty: Bool {
        switch self {
        case .end: true
        case .responder: false
        case .root: ErrorResponders.isRootEmpty
        }
    }
}

/// Puts responders on the way of what is reported during an operation.
///
/// - Parameters:
///   - responders: Who is asked, the first one first, and all before those of outer scopes.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withErrorResponders<R>(_ responders: ErrorResponder..., operation: () throws -> R) rethrows -> R {
    try withErrorResponders(responders, operation: operation)
}

/// Puts responders that are in a list on the way of what is reported during an operation.
///
/// - Parameters:
///   - responders: Who is asked, the first one first, and all before those of outer scopes.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withErrorResponders<R>(_ responders: [ErrorResponder], operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.asking(responders), operation: operation)
}

/// Puts responders on the way of what is reported during an asynchronous operation.
///
/// An asynchronous version of `withErrorResponders`.
///
/// - Parameters:
///   - responders: Who is asked, the first one first, and all before those of outer scopes.
///   - isolation: Where the operation runs.
///   - operation: What to run.
/// - Returns: What the operation returns.
@_disfavoredOverload
public func withErrorResponders<R>(
    _ responders: ErrorResponder..., isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    // Not favoured: where several responders are named, the compiler would take this one, and demand an await, for an
    // operation that waits for nothing.
    try await withErrorResponders(responders, isolation: isolation, operation: operation)
}

/// Puts responders that are in a list on the way of what is reported during an asynchronous operation.
///
/// An asynchronous version of `withErrorResponders`.
///
/// - Parameters:
///   - responders: Who is asked, the first one first, and all before those of outer scopes.
///   - isolation: Where the operation runs.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withErrorResponders<R>(
    _ responders: [ErrorResponder], isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.asking(responders), operation: operation)
}

extension ReportingScope {
    fileprivate static func asking(_ responders: [ErrorResponder]) -> Box {
        changed { $0.responders = ResponderChain(responders, outside: $0.responders) }
    }
}
