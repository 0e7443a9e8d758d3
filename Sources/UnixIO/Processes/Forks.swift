internal import CLinux

/// When this process may be forked.
///
/// A child has its parent's memory as it is, but of its threads only the one
/// that forked. What another of them has half done stays so: a lock is never
/// released, and a type that the runtime was making never ready. A thread of
/// ours has forks wait until it is not in the midst of anything.
package enum Forks {
    /// Does something that no child finds half done.
    ///
    /// A wait for a descriptor lets forks happen meanwhile, whoever waits.
    package static func heldOff<Value, Failure: Error>(
        while body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        clinux_forks_hold()
        defer { clinux_forks_release() }
        return try body()
    }

    /// Lets forks happen during a wait, where this thread holds them off.
    package static func admitted<Value, Failure: Error>(
        while body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        clinux_forks_admit()
        defer { clinux_forks_hold_again() }
        return try body()
    }
}
