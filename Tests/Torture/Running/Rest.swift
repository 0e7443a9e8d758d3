import UnixIO

/// Waits for nothing but time, on a thread of its own.
func rest(_ time: Duration) {
    let nothing = Monitor(())
    _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: time)) { _ -> Bool? in nil }
}
