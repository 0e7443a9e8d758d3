internal import Synchronization

/// A list of reporters that can be replaced while others read it.
final class ReporterBox: Sendable {
    /// What holds outside all scopes.
    static let process = ReporterBox([.default])

    private let storage: Mutex<[any IssueReporter]>

    init(_ reporters: [any IssueReporter]) {
        storage = Mutex(reporters)
    }

    var reporters: [any IssueReporter] {
        get { storage.withLock { $0 } }
        set {
            // The old list is let go outside the lock: a reporter's deinit may report.
            var list = newValue
            storage.withLock { swap(&$0, &list) }
        }
    }
}
