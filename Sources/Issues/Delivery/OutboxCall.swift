/// Issues that go, or went, to the daemon in one call.
package struct OutboxCall<Payload: Sendable>: Sendable {
    /// The producer's number of the first issue; the others follow it.
    package var sequence: Int64
    package var entries: [OutboxEntry<Payload>]
    /// How many issues were dropped before the first.
    package var droppedBefore: Int
    /// What is sent; nil until it has been encoded.
    package var text: [UInt8]?

    /// The same issues, with the same numbers, in two calls.
    var halves: (Self, Self) {
        let middle = entries.count / 2
        let first = Self(
            sequence: sequence, entries: Array(entries[..<middle]), droppedBefore: droppedBefore, text: nil)
        let second = Self(
            sequence: sequence + Int64(middle), entries: Array(entries[middle...]), droppedBefore: 0, text: nil)
        return (first, second)
    }

    var sentBytes: Int { entries.reduce(0) { $0 + $1.sentBytes } }

    var bytes: Int { entries.reduce(0) { $0 + $1.bytes } }
}
