import CLinux
import Glibc

/// A thread of our own, for work that blocks.
///
/// It leaves signals to the other threads. Whoever does not join it lets it
/// run to its end unobserved.
package struct Thread: ~Copyable, Sendable {
    private let handle: pthread_t

    private init(handle: pthread_t) {
        self.handle = handle
    }

    deinit {
        pthread_detach(handle)
    }

    /// Starts a thread; the kernel shows at most 15 bytes of its name.
    package static func start(
        name: String, stackSize: Int = 512 * 1024, body: @escaping @Sendable () -> Void
    ) throws(Errno) -> Thread {
        let work = unsafe Unmanaged.passRetained(ThreadBody(name: name, body: body))
        var handle = pthread_t()
        do throws(Errno) {
            try calling { unsafe clinux_thread_start(&handle, stackSize, runThread, work.toOpaque()) }
        } catch {
            unsafe work.release()
            throw error
        }
        return Thread(handle: handle)
    }

    /// Waits until the thread has ended.
    package consuming func join() {
        let handle = self.handle
        discard self
        _ = pthread_join(handle, nil)
    }
}

/// What a new thread is given.
private final class ThreadBody: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    let work = unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue()
    // Cut before the byte that would not fit, without halving a character.
    var name = work.name
    while name.utf8.count > 15 { name.removeLast() }
    _ = unsafe clinux_set_thread_name(name)
    work.body()
    return nil
}

extension Thread {
    /// Lets other threads go first from now on, where there are too few processors for all; where that is forbidden,
    /// nothing changes.
    package static func yieldToOthers() {
        // A third of what a thread gets that has not said so.
        _ = clinux_yield_to_others(5)
    }
}

/// State that several threads share, and can wait for.
///
/// For threads that block. What only needs a lock takes `Mutex`; what runs in
/// tasks must not wait here.
package final class Monitor<State: ~Copyable & Sendable>: @unchecked Sendable {
    // Every access is between lock() and unlock().
    @usableFromInline let lock = ConditionLock()
    @usableFromInline var state: State

    @inlinable
    package init(_ state: consuming State) {
        self.state = state
    }

    /// Looks at the state, or changes it. Wakes nobody by itself.
    @inlinable
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&state)
    }

    /// Waits until `attempt` returns something, and returns that; nil when the
    /// deadline comes first.
    ///
    /// The attempt is made under the lock: at once, after each wake-up, and a
    /// last time at the deadline.
    @inlinable
    package func wait<Result: ~Copyable>(
        deadline: KernelInstant? = nil, until attempt: (inout State) -> sending Result?
    ) -> sending Result? {
        lock.lock()
        defer { lock.unlock() }
        while true {
            if let result = attempt(&state) { return result }
            guard lock.wait(until: deadline) else { return attempt(&state) }
        }
    }

    /// Wakes one of those that wait.
    @inlinable
    package func signal() {
        lock.signal()
    }

    /// Wakes all that wait.
    @inlinable
    package func broadcast() {
        lock.broadcast()
    }
}

/// A mutex and its condition, without the state they guard.
@safe
package final class ConditionLock: @unchecked Sendable {
    // Both are made for use by several threads, and need an address that
    // never changes; nothing else is stored here.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    package init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        var kind = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&kind)
        // Held for a handful of assignments: whoever comes meanwhile is through
        // sooner by trying again than by sleeping.
        unsafe pthread_mutexattr_settype(&kind, CInt(PTHREAD_MUTEX_ADAPTIVE_NP))
        let mutexMade = unsafe pthread_mutex_init(mutex, &kind)
        unsafe pthread_mutexattr_destroy(&kind)
        precondition(mutexMade == 0, "A mutex cannot be made: \(Errno(rawValue: mutexMade))")

        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // Else a clock set back would make a wait of a second last for hours.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let conditionMade = unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
        precondition(conditionMade == 0, "A condition cannot be made: \(Errno(rawValue: conditionMade))")
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    package func lock() {
        let code = unsafe pthread_mutex_lock(mutex)
        precondition(code == 0, "A mutex cannot be locked: \(Errno(rawValue: code))")
    }

    package func unlock() {
        let code = unsafe pthread_mutex_unlock(mutex)
        precondition(code == 0, "A mutex cannot be unlocked: \(Errno(rawValue: code))")
    }

    package func signal() {
        unsafe pthread_cond_signal(condition)
    }

    package func broadcast() {
        unsafe pthread_cond_broadcast(condition)
    }

    /// Unlocks, waits to be woken and locks again; false at the deadline.
    ///
    /// It may also return for no reason, so the caller looks again.
    package func wait(until deadline: KernelInstant?) -> Bool {
        guard let deadline else {
            unsafe pthread_cond_wait(condition, mutex)
            return true
        }
        let nanoseconds = max(0, deadline.nanoseconds)
        var time = timespec(
            tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        return unsafe pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
    }
}
