/// One issue in the outbox.
package struct OutboxEntry<Payload: Sendable>: Sendable {
    /// Its place among all that were submitted.
    package var order: UInt64
    package var level: IssueLevel
    /// About how large it is.
    package var bytes: Int
    package var payload: Payload
}
