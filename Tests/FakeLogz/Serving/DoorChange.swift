/// What is to become of a port.
struct DoorChange: Hashable, Sendable {
    /// How long it is open and closed in turn.
    struct Flapping: Hashable, Sendable {
        var up: Duration
        var down: Duration
    }

    var mode: DoorMode
    /// It opens again by itself then.
    var duration: Duration?
    /// It closes again by itself, and so on.
    var flapping: Flapping?

    init(to mode: DoorMode, for duration: Duration? = nil, flapping: Flapping? = nil) {
        self.mode = mode
        self.duration = duration
        self.flapping = flapping
    }
}
