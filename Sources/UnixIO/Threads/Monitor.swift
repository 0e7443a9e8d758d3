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
