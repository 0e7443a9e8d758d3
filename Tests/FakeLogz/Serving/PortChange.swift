/// A change of a port.
struct PortChange: Hashable, Sendable {
    /// The durations for which the port is open and closed in turn.
    struct Flapping: Hashable, Sendable {
        var up: Duration
        var down: Duration
    }

    var mode: PortMode
    /// The time after which the port reopens; nil if it stays as it is until the next change.
    var duration: Duration?
    /// Makes the port close and reopen repeatedly.
    var flapping: Flapping?

    init(to mode: PortMode, for duration: Duration? = nil, flapping: Flapping? = nil) {
        self.mode = mode
        self.duration = duration
        self.flapping = flapping
    }
}
