internal import UnixIO

/// What is done for reports when the process is about to end on purpose.
enum LastWords {
    /// Gives what is on its way a moment, and keeps the rest for the next run.
    static func say(timeout: Duration = .seconds(1), givesUpWhenAway: Bool = false) {
        guard let delivery = Delivery.existing else { return }
        let deadline = MonotonicClock.now.advanced(by: timeout)
        guard delivery.flush(timeout: timeout, givesUpWhenAway: givesUpWhenAway) else { return delivery.spill() }
        // Or a program of few seconds would never get an earlier one's out.
        delivery.waitForPickup(until: deadline)
    }
}
