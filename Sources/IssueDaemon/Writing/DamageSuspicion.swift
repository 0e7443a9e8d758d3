import IssueStore
import Synchronization
import UnixIO

/// Decides whether a file that was called damaged is to be set aside.
///
/// SQLite also calls it damage when the disk would not give a page. So a file
/// that can be read through a moment later is opened anew, and so is one of
/// which nothing can be told in time. One that is called damaged again soon,
/// and not by the disk, has a fault that reading through does not find: it is
/// set aside all the same.
final class DamageSuspicion: Sendable {
    /// What came of looking at a file.
    enum Verdict: Equatable {
        /// It is damaged.
        case confirmed
        /// It can be read through.
        case acquitted
        /// It could not be read through in time.
        case untold
    }

    /// When a file was last let off damage that was not the disk's.
    private let leniency = Mutex<KernelInstant?>(nil)
    /// How long a look at a file may take: reports wait meanwhile, and the watchdog does.
    private let patience: Duration

    /// For so long nothing is let off twice.
    private static let memory: Duration = .seconds(600)
    private static let attempts = 3
    private static let pause: Duration = .milliseconds(300)

    init(patience: Duration = .seconds(3)) {
        self.patience = patience
    }

    func verdict(on damage: StoreFailure, at path: String) -> Verdict {
        let last = leniency.withLock { $0 }
        if !damage.isUnreadable, let last, last.advanced(by: Self.memory) > MonotonicClock.now { return .confirmed }
        for attempt in 1...Self.attempts {
            switch look(at: path) {
            case .whole: return letOff(damage, .acquitted)
            // What was read stays in the machine's memory, so the next look comes further.
            case .untold: return letOff(damage, .untold)
            case .damaged: if attempt < Self.attempts { Self.rest() }
            }
        }
        return .confirmed
    }

    private func letOff(_ damage: StoreFailure, _ verdict: Verdict) -> Verdict {
        if !damage.isUnreadable { leniency.withLock { $0 = MonotonicClock.now } }
        return verdict
    }

    private func look(at path: String) -> StoreCheck.Finding {
        let isOver = Monitor(false)
        let deadline = MonotonicClock.now.advanced(by: patience)
        let finding = StoreCheck.look(at: path, within: patience) { end in
            // One step looks at no clock meanwhile.
            _ = try? ThreadBox(name: "check") {
                var next = deadline
                while isOver.wait(deadline: next, until: { $0 ? true : nil }) == nil {
                    end()
                    next = MonotonicClock.now.advanced(by: .milliseconds(20))
                }
            }
        }
        isOver.withLock { $0 = true }
        isOver.broadcast()
        return finding
    }

    /// Lets what may pass by itself pass.
    static func rest() {
        let nothing = Monitor(())
        _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: pause)) { _ -> Bool? in nil }
    }
}
