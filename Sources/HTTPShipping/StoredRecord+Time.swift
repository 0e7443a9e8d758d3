package import IssueProtocol

extension StoredRecord {
    /// When it happened, as far as the sender's clock can be believed, and a sentence where it can't.
    package var believedTime: (time: Timestamp, repair: String?) {
        guard let claimed = record.occurredAt else { return (receivedAt, nil) }
        let (distance, overflow) = claimed.milliseconds.subtractingReportingOverflow(receivedAt.milliseconds)
        if !overflow, distance.magnitude <= Self.farthest { return (claimed, nil) }
        return (
            receivedAt,
            "occurred_at is more than 7 days off (\(claimed.text)) and was replaced by the time of receipt"
        )
    }

    /// Seven days of milliseconds.
    private static let farthest: UInt64 = 7 * 86_400_000
}
