import IssueCore
package import IssueProtocol

/// What a walk has to know of a series to judge its records.
package struct SeriesFacts: Equatable, Sendable {
    package var group: Int64
    package var account: Int64
    package var severity: Severity
    package var isReportable: Bool
    /// The row of the first record of its group.
    package var firstOfGroup: Int64
    /// Long past where the group is not muted.
    package var mutedUntil: Timestamp

    package func record(_ step: LogStep, offset: Int64) -> WalkedRecord {
        WalkedRecord(
            candidate: Candidate(
                record: step.row, group: group, account: account, severity: severity,
                isFirstOfGroup: step.row == firstOfGroup, count: step.count, isReportable: isReportable,
                isMuted: step.receivedAt < mutedUntil),
            at: LogInstant(milliseconds: step.receivedAt.milliseconds &+ offset), receivedAt: step.receivedAt)
    }
}
