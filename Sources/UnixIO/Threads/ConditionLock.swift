import Glibc

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
