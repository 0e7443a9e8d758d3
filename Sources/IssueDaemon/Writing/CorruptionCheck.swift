import IssueStore
import Synchronization
import UnixIO

/// Checks files that were reported as damaged, and decides whether they are moved aside.
///
/// SQLite also reports damage if the disk fails to read a page. So a file that can be read completely a moment later is
/// reopened, and so is one that can't be read completely in time. If damage is then reported again within ten minutes,
/// and neither report was a read error, the file has damage that a check does not find in time. It is moved aside
/// without another check.
final class CorruptionCheck: Sendable {
    /// The result of checking a file.
    enum CheckResult: Equatable {
        /// The file is damaged.
        case confirmed
        /// The file can be read completely.
        case healthy
        /// The file could not be read completely in time, or the disk may be the cause instead of the file.
        case inconclusive
    }

    /// When a report of damage that was not a read error was last ignored.
    private let lastIgnoredAt = Mutex<KernelInstant?>(nil)
    /// How long one attempt may take. Meanwhile, reports wait, and the writer thread does not answer heartbeats.
    private let timeout: Duration

    /// The period in which damage is ignored only once.
    private static let ignorePeriod: Duration = .seconds(600)
    /// A clause about the last file that was moved aside; nil if it was already reported to notifiers.
    private let setAside = Mutex<String?>(nil)
    private static let attempts = 3
    /// The time before another attempt, because a disk error may be temporary.
    static let pause: Duration = .milliseconds(300)

    init(timeout: Duration = .seconds(3)) {
        self.timeout = timeout
    }

    /// - Parameter text: A clause about a file that was moved aside.
    func noteSetAside(_ text: String) {
        setAside.withLock { $0 = text }
    }

    /// Returns the clause about the last file that was moved aside; nil if none was since the last call.
    func takeSetAside() -> String? {
        setAside.withLock { text in
            defer { text = nil }
            return text
        }
    }

    /// Checks the file at a path. Blocks for up to about three times `timeout`.
    func verdict(on damage: StoreFailure, at path: String) -> CheckResult {
        let last = lastIgnoredAt.withLock { $0 }
        if !damage.isUnreadable, let last, last.advanced(by: Self.ignorePeriod) > MonotonicClock.now {
            return .confirmed
        }
        for attempt in 1...Self.attempts {
            switch Self.checkPages(of: path, within: timeout) {
            case .whole: return ignore(damage, .healthy)
            case .inconclusive: return ignore(damage, .inconclusive)
            case .damaged: if attempt < Self.attempts { Clock.sleep(for: Self.pause) }
            }
        }
        return .confirmed
    }

    private func ignore(_ damage: StoreFailure, _ verdict: CheckResult) -> CheckResult {
        if !damage.isUnreadable { lastIgnoredAt.withLock { $0 = MonotonicClock.now } }
        return verdict
    }

    /// Checks all pages of a database.
    ///
    /// - Parameters:
    ///   - path: The path of the database.
    ///   - timeout: The maximum duration.
    ///   - isCancelled: Called about every 20 milliseconds, on another thread. Returns `true` to interrupt the check.
    static func checkPages(
        of path: String, within timeout: Duration, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) -> StoreCheck.Finding {
        let isOver = Monitor(false)
        let deadline = MonotonicClock.now.advanced(by: timeout)
        let finding = StoreCheck.check(at: path, within: timeout) { end in
            // StoreCheck does not look at the clock during a step, so another thread ends a step that takes too long.
            _ = try? JoinableThread(name: "check") {
                var next = MonotonicClock.now
                while isOver.wait(deadline: next, until: { $0 ? true : nil }) == nil {
                    next = MonotonicClock.now.advanced(by: .milliseconds(20))
                    if next >= deadline || isCancelled() { end() }
                }
            }
        }
        isOver.withLock { $0 = true }
        isOver.broadcast()
        return finding
    }
}
