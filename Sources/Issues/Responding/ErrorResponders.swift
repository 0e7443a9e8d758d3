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
