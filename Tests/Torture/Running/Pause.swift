import UnixIO

/// Sleeps on the current thread.
func pause(_ time: Duration) {
    let nothing = Monitor(())
    _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: time)) { _ -> Bool? in nil }
}
