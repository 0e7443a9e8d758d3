/// What a responder made of an error that it received.
public enum ErrorHandling: Hashable, Sendable {
    /// It is dealt with, and nobody else has to hear of it.
    case handled
    /// It climbs on to whoever lies further outside.
    case notHandled
}
