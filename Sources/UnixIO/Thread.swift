import CLinux
import Glibc

/// A thread for blocking work.
///
/// The thread blocks most signals, so that other threads handle them. It is detached if this value goes out of scope
/// without ``join()``.
package struct Thread: ~Copyable, Sendable {
    private let handle: pthread_t

    private init(handle: pthread_t) {
        self.handle = handle
    }

    deinit {
        pthread_detach(handle)
    }

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: The name of the thread; the kernel shows at most 15 bytes.
    ///   - stackSize: The size of the stack, in bytes.
    ///   - body: Runs on the thread.
    /// - Throws: The error of pthread_create(3).
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

    /// Waits until the thread has ended. Must not be called on the thread itself.
    package consuming func join() {
        let handle = self.handle
        discard self
        _ = pthread_join(handle, nil)
    }
}

/// The context passed to a new thread.
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
    // The kernel accepts at most 15 bytes. Whole characters are removed, so the name stays valid UTF-8.
    var name = work.name
    while name.utf8.count > 15 { name.removeLast() }
    _ = unsafe clinux_set_thread_name(name)
    work.body()
    return nil
}

extension Thread {
    /// Sets the niceness of the current thread to 5 if permitted, so that other threads get more time if there are too
    /// few processors.
    package static func yieldToOthers() {
        // The thread gets about a third as much time as a thread with the default priority.
        _ = clinux_yield_to_others(5)
    }
}

/// State that is shared by several threads, with a mutex and a condition variable.
///
/// For threads that may block; a task must not call ``wait(deadline:until:)``. Use `Mutex` if a lock is enough.
package final class Monitor<State: ~Copyable & Sendable>: @unchecked Sendable {
    // All access is between lock() and unlock().
    @usableFromInline let lock = ConditionLock()
    @usableFromInline var state: State

    @inlinable
    package init(_ state: consuming State) {
        self.state = state
    }

    /// Reads or changes the state. Does not wake any waiting thread.
    @inlinable
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&state)
    }

    /// Waits until `attempt` returns a value, and returns it.
    ///
    /// The attempt runs under the lock: immediately, after each wake-up, and once more at the deadline.
    ///
    /// - Parameters:
    ///   - deadline: The end of the wait; nil for none.
    ///   - attempt: Returns nil to continue waiting.
    /// - Returns: Nil if the deadline passes first.
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

    /// Wakes one waiting thread.
    @inlinable
    package func signal() {
        lock.signal()
    }

    /// Wakes all waiting threads.
    @inlinable
    package func broadcast() {
        lock.broadcast()
    }
}

/// A mutex and its condition variable, without the state they protect.
@safe
package final class ConditionLock: @unchecked Sendable {
    // Both are thread-safe but need a stable address. The class has no other stored properties.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    package init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        var kind = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&kind)
        // The mutex is usually held only briefly, so spinning is faster than sleeping.
        unsafe pthread_mutexattr_settype(&kind, CInt(PTHREAD_MUTEX_ADAPTIVE_NP))
        let mutexMade = unsafe pthread_mutex_init(mutex, &kind)
        unsafe pthread_mutexattr_destroy(&kind)
        precondition(mutexMade == 0, "Creating a mutex failed: \(Errno(rawValue: mutexMade))")

        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // With the default clock, setting the wall clock back could extend a wait of a second to hours.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let conditionMade = unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
        precondition(conditionMade == 0, "Creating a condition variable failed: \(Errno(rawValue: conditionMade))")
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    package func lock() {
        let code = unsafe pthread_mutex_lock(mutex)
        precondition(code == 0, "Locking a mutex failed: \(Errno(rawValue: code))")
    }

    package func unlock() {
        let code = unsafe pthread_mutex_unlock(mutex)
        precondition(code == 0, "Unlocking a mutex failed: \(Errno(rawValue: code))")
    }

    package func signal() {
        unsafe pthread_cond_signal(condition)
    }

    package func broadcast() {
        unsafe pthread_cond_broadcast(condition)
    }

    /// Unlocks, waits to be woken, and locks again.
    ///
    /// The wait may also end spuriously, so the caller must check its condition again.
    ///
    /// - Returns: `false` if the deadline has passed.
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

/// A thread whose closure can be waited for, with or without a timeout.
package final class JoinableThread: Sendable {
    private let isDone: Monitor<Bool>

    /// Starts the thread, with a stack of 1 MiB.
    ///
    /// - Throws: The error of pthread_create(3).
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let isDone = Monitor(false)
        self.isDone = isDone
        _ = try Thread.start(name: name, stackSize: 1 << 20) {
            body()
            isDone.withLock { $0 = true }
            isDone.broadcast()
        }
    }

    /// Waits until the closure has returned or the deadline has passed. Returns `true` if it has returned.
    package func wait(until deadline: KernelInstant) -> Bool {
        isDone.wait(deadline: deadline) { $0 ? true : nil } ?? false
    }

    /// Waits until the closure has returned, without a timeout.
    package func join() {
        _ = isDone.wait { $0 ? true : nil }
    }
}
