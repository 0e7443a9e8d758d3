import IssueStore
import UnixIO

/// Interrupts queries that have run too long or are no longer needed. Runs on a thread of its own.
///
/// A database connection also has a deadline of its own, but SQLite's progress handler checks it only while a statement
/// runs. An interruption by this thread also makes the next statements fail.
final class QueryWatchdog: Sendable {
    /// Why a query was ended.
    enum Reason: Equatable, Sendable {
        /// The client's connection was closed.
        case clientGone
        case tooSlow
        /// A user who has used less time is waiting.
        case yielded
        case stopping
    }

    fileprivate struct Running {
        let connection: UInt64
        let handle: QueryInterruption
        let began: KernelInstant
        /// Returns `true` if the query must yield after running for this time. Called with the lock held.
        let mustYield: @Sendable (Duration) -> Bool
        var reason: Reason?
        /// Whether the query must not be interrupted, because the writer completes its change in any case.
        var isProtected = false
    }

    fileprivate struct State {
        var running: [Int: Running] = [:]
        /// When the watch thread checks next, unless it is woken; nil if no running query can be interrupted.
        var wakesAt: KernelInstant?
        var isWoken = false
        var isStopping = false
        var hasEnded = false
    }

    private let state = Monitor(State())
    private let slice: Duration

    /// The maximum duration of a query that is not protected.
    static let limit: Duration = .seconds(10)
    /// The interval at which an interruption is repeated until the query ends. SQLite ignores an interruption that
    /// arrives just before a statement starts to run.
    fileprivate static let repetition: Duration = .milliseconds(10)
    /// The interval at which a query that has run longer than its slice is checked. It may then have to yield.
    fileprivate static let interval: Duration = .milliseconds(250)

    /// - Parameter slice: How long a query may run even if users who have used less time are waiting.
    init(slice: Duration) {
        self.slice = slice
    }

    /// Starts watching the query of a thread.
    func begin(
        _ thread: Int, connection: UInt64, _ handle: QueryInterruption,
        mustYield: @escaping @Sendable (Duration) -> Bool
    ) {
        let began = MonotonicClock.now
        let wakes = state.withLock { state in
            let running = Running(connection: connection, handle: handle, began: began, mustYield: mustYield)
            state.running[thread] = running
            if state.isStopping { state.end(thread, .stopping) }
            guard let wakesAt = state.wakesAt, wakesAt <= began.advanced(by: slice), !state.isStopping else {
                state.isWoken = true
                return true
            }
            return false
        }
        if wakes { state.signal() }
    }

    /// Stops watching the query of a thread. Returns why it was interrupted; nil if it was not.
    func end(_ thread: Int) -> Reason? {
        state.withLock { state in
            let running = state.running.removeValue(forKey: thread)
            if running?.reason != nil { running?.handle.clear() }
            return running?.reason
        }
    }

    /// Protects the query of a thread from interruption from now on.
    ///
    /// - Returns: `false` if the query was already interrupted.
    func protect(_ thread: Int) -> Bool {
        state.withLock { state in
            guard state.running[thread]?.reason == nil else { return false }
            state.running[thread]?.isProtected = true
            return true
        }
    }

    /// Interrupts the queries of a closed connection, unless they are protected.
    func cancel(connection: UInt64) {
        let isFound = state.withLock { state in
            let threads = state.running.filter { $0.value.connection == connection }.keys
            for thread in threads { state.end(thread, .clientGone) }
            if !threads.isEmpty { state.isWoken = true }
            return !threads.isEmpty
        }
        if isFound { state.signal() }
    }

    /// Interrupts all queries that are not protected, including those that begin later.
    func stop() {
        state.withLock { state in
            state.isStopping = true
            state.isWoken = true
            for thread in state.running.keys { state.end(thread, .stopping) }
        }
        state.signal()
    }

    /// Ends the watch thread.
    func finish() {
        state.withLock { $0.hasEnded = true }
        state.signal()
    }

    /// Watches until `finish` is called.
    func run() {
        while true {
            let (next, hasEnded) = state.withLock { ($0.check(at: MonotonicClock.now, slice), $0.hasEnded) }
            if hasEnded { return }
            _ = state.wait(deadline: next) { state -> Bool? in
                guard state.isWoken || state.hasEnded else { return nil }
                state.isWoken = false
                return true
            }
        }
    }
}

extension QueryWatchdog.State {
    mutating func end(_ thread: Int, _ reason: QueryWatchdog.Reason) {
        guard var running = running[thread], !running.isProtected else { return }
        if running.reason == nil { running.reason = reason }
        running.handle.cancel()
        self.running[thread] = running
    }

    /// Interrupts the queries that must end now. Returns when to check again; nil if no running query can be
    /// interrupted.
    mutating func check(at now: KernelInstant, _ slice: Duration) -> KernelInstant? {
        var next: KernelInstant?
        for (thread, running) in running where !running.isProtected {
            let elapsed = running.began.duration(to: now)
            if let reason = running.reason {
                end(thread, reason)
            } else if elapsed >= QueryWatchdog.limit {
                end(thread, .tooSlow)
            } else if elapsed >= slice, running.mustYield(elapsed) {
                end(thread, .yielded)
            }
            let time: KernelInstant
            if self.running[thread]?.reason != nil {
                time = now.advanced(by: QueryWatchdog.repetition)
            } else if elapsed < slice {
                time = running.began.advanced(by: slice)
            } else {
                let limit = running.began.advanced(by: QueryWatchdog.limit)
                time = min(limit, now.advanced(by: QueryWatchdog.interval))
            }
            next = min(next ?? time, time)
        }
        wakesAt = next
        return next
    }
}
