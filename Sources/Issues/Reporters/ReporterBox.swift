internal import Synchronization

/// A list of reporters that can be replaced while others read it.
final class ReporterBox: Sendable {
    /// What holds outside all scopes.
    static let process = ReporterBox([.default])

    private let storage: Mutex<[any IssueReporter]>

    // Apart, so that a report for nobody takes no lock.
    private let hasAny: Atomic<Bool>

    init(_ reporters: [any IssueReporter]) {
        storage = Mutex(reporters)
        hasAny = Atomic(!reporters.isEmpty)
    }

    var isEmpty: Bool { !hasAny.load(ordering: .acquiring) }

    var reporters: [any IssueReporter] {
        get { storage.withLock { $0 } }
        set {
            // The old list is let go outside the lock: a reporter's deinit may report.
            var list = newValue
            storage.withLock {
                swap(&$0, &list)
                hasAny.store(!newValue.isEmpty, ordering: .releasing)
            }
        }
    }
}
