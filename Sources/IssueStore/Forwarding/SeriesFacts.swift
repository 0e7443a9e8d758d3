package import IssueCore
package import IssueProtocol

/// What a walk has to know of a series to judge its records.
package struct SeriesFacts: Equatable, Sendable {
    package var group: Int64
    package var account: Int64
    /// Who sent it, or the user who answers for them.
    package var user: UInt32
    package var severity: Severity
    package var isReportable: Bool
    /// The row of the first record of its group.
    package var firstOfGroup: Int64
    /// The record with which its group came back last, or none.
    package var regression: Int64
    /// Which records of its group are told to nobody.
    package var mutes: MutedRows

    package func record(_ step: LogStep, offset: Int64) -> WalkedRecord {
        WalkedRecord(
            candidate: Candidate(
                record: step.row, group: group, account: account, user: user, severity: severity,
                isFirstOfGroup: step.row == firstOfGroup || step.row == regression, count: step.count,
                isReportable: isReportable,
                isMuted: mutes.contains(step.row)),
            at: LogInstant(milliseconds: step.receivedAt.milliseconds &+ offset), receivedAt: step.receivedAt)
    }
}
