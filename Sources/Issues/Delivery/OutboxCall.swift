/// Issues that go, or went, to the daemon in one call.
package struct OutboxCall<Payload: Sendable>: Sendable {
    /// The producer's number of the first issue; the others follow it.
    package var sequence: Int64
    package var entries: [OutboxEntry<Payload>]
    /// How many issues were dropped before the first.
    package var droppedBefore: Int
    /// What is sent; nil until it has been encoded.
    package var text: [UInt8]?

    var bytes: Int { entries.reduce(0) { $0 + $1.bytes } }
}
