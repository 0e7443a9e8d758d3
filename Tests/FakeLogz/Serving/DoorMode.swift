/// How a port treats those who knock.
enum DoorMode: Hashable, Sendable {
    case open
    /// Nobody listens: a connection is refused.
    case closed
    /// Somebody listens, and never accepts: a connection times out.
    case blackhole
    /// For good, on the way out.
    case ended
}
