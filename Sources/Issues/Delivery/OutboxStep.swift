package import UnixIO

/// What the outbox wants done next.
package enum OutboxStep<Payload: Sendable>: Sendable {
    /// Nothing, until something is submitted or answered.
    case idle
    /// Nothing before this moment, unless something happens.
    case wait(until: KernelInstant)
    case connect
    /// Encode these issues, and come back with the text.
    case encode(OutboxCall<Payload>)
    /// Send this text; it counts as sent from now on.
    case send([UInt8])
    /// Close the connection; what is unanswered goes again on the next one.
    case disconnect
}
