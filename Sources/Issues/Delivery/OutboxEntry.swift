/// One issue in the outbox.
package struct OutboxEntry<Payload: Sendable>: Sendable {
    /// Its place among all that were submitted.
    package var order: UInt64
    package var level: IssueLevel
    /// About how much room it takes here.
    package var bytes: Int
    /// About how large it is in a call.
    package var sentBytes: Int
    package var payload: Payload
}
