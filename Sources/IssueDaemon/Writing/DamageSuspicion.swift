import IssueStore
import Synchronization
import UnixIO

/// Decides whether a file that was called damaged is to be set aside.
///
/// SQLite also calls it damage when the disk would not give a page. So a file
/// that can be read through a moment later is opened anew. One that is called
/// damaged again soon, and not by the disk, has a fault that reading through
/// does not find: it is set aside all the same.
final class DamageSuspicion: Sendable {
    /// When a file was last acquitted of damage that was not the disk's.
    private let acquittal = Mutex<KernelInstant?>(nil)

    /// For so long nothing is acquitted twice.
    private static let memory: Duration = .seconds(600)
    private static let attempts = 3
    private static let pause: Duration = .milliseconds(300)
    /// Reports wait meanwhile, and the watchdog does.
    private static let patience: Duration = .seconds(3)

    func isConfirmed(_ damage: StoreFailure, at path: String) -> Bool {
        let last = acquittal.withLock { $0 }
        if !damage.isUnreadable, let last, last.advanced(by: Self.memory) > MonotonicClock.now { return true }
        for attempt in 1...Self.attempts {
            if StoreCheck.isWhole(path, within: Self.patience) {
                if !damage.isUnreadable { acquittal.withLock { $0 = MonotonicClock.now } }
                return false
            }
            if attempt < Self.attempts { Self.rest() }
        }
        return true
    }

    /// Lets what may pass by itself pass.
    static func rest() {
        let nothing = Monitor(())
        _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: pause)) { _ -> Bool? in nil }
    }
}
