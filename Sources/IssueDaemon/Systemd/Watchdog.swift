import UnixIO

/// How often the service manager wants to hear that we live (`WatchdogSec=`).
package enum Watchdog {
    /// The interval after which we are taken for dead, or nil where nobody watches.
    package static func interval(microseconds: String?, watchedPID: String?, ownPID: Int32) -> Duration? {
        // A variable may be inherited from a parent that is watched itself.
        if let watchedPID, Int32(watchedPID) != ownPID { return nil }
        guard let microseconds, let count = Int64(microseconds), count > 0 else { return nil }
        return .microseconds(count)
    }

    /// Takes it out of the environment, so that no child of ours takes it for
    /// its own. Only before there are other threads.
    package static func takeIntervalFromEnvironment() -> Duration? {
        let interval = interval(
            microseconds: Environment["WATCHDOG_USEC"], watchedPID: Environment["WATCHDOG_PID"],
            ownPID: CurrentProcess.pid)
        try? Environment.remove("WATCHDOG_USEC")
        try? Environment.remove("WATCHDOG_PID")
        return interval
    }
}
