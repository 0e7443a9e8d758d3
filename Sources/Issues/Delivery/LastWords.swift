/// What is done for reports when the process is about to end on purpose.
enum LastWords {
    /// Gives what is on its way a moment, and keeps the rest for the next run.
    static func say(timeout: Duration = .seconds(1), givesUpWhenAway: Bool = false) {
        guard let delivery = Delivery.existing else { return }
        if !delivery.flush(timeout: timeout, givesUpWhenAway: givesUpWhenAway) { delivery.spill() }
    }
}
