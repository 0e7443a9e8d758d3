internal import Synchronization

/// A list of reporters that can be replaced while others read it.
final class ReporterBox: Sendable {
    /// What holds outside all scopes.
    static let process: ReporterBox = {
        let box = ReporterBox(ProcessSettings.shared.reporters)
        processKind.store(box.kind.load(ordering: .relaxed), ordering: .releasing)
        return box
    }()
    // Apart from the box, which to reach costs more than a report for nobody should.
    private static let processKind = Atomic(Kind.others)

    /// Whether nobody is told outside all scopes.
    static var isProcessEmpty: Bool { processKind.load(ordering: .acquiring) == .none }

    private let storage: Mutex<[any IssueReporter]>

    // Apart, so that a report for nobody takes no lock, and one for the daemon few.
    private let kind: Atomic<Kind>

    private enum Kind: UInt8, AtomicRepresentable {
        case none
        case daemonAlone
        case others

        init(_ reporters: [any IssueReporter]) {
            guard !reporters.isEmpty else {
                self = .none
                return
            }
            let isDaemon = reporters.allSatisfy { ($0 as? DaemonReporter)?.isOfProcess == true }
            self = isDaemon ? .daemonAlone : .others
        }
    }

    init(_ reporters: [any IssueReporter]) {
        storage = Mutex(reporters)
        kind = Atomic(Kind(reporters))
    }

    var isEmpty: Bool { kind.load(ordering: .acquiring) == .none }

    /// Whether the process's own way to the daemon is all there is.
    var areDaemonAlone: Bool { kind.load(ordering: .acquiring) == .daemonAlone }

    var reporters: [any IssueReporter] {
        get { storage.withLock { $0 } }
        set {
            // The old list is let go outside the lock: a reporter's deinit may report.
            var list = newValue
            let newKind = Kind(newValue)
            storage.withLock {
                swap(&$0, &list)
                kind.store(newKind, ordering: .releasing)
                if self === Self.process { Self.processKind.store(newKind, ordering: .releasing) }
            }
        }
    }
}
