package import IssueProtocol

/// What is stored of one group for one destination.
package struct GroupRow: Equatable, Sendable {
    package var group: Int64
    package var account: Int64
    /// The newest record judged; the groups with the newest ones are those that are loaded again at a start.
    package var lastRecord: Int64
    /// How often it has occurred, as the walk has seen it.
    package var occurrences: Int64
    /// Records held back since the last that went.
    package var suppressedBefore: Int64
    /// The number of the last summary, for each reason.
    package var sequences: [SuppressionReason: Int64]
    /// In tokens; nothing where groups have no limit.
    package var level: Double?
    package var at: LogInstant

    package init(
        group: Int64, account: Int64, lastRecord: Int64, occurrences: Int64, suppressedBefore: Int64,
        sequences: [SuppressionReason: Int64], level: Double?, at: LogInstant
    ) {
        self.group = group
        self.account = account
        self.lastRecord = lastRecord
        self.occurrences = occurrences
        self.suppressedBefore = suppressedBefore
        self.sequences = sequences
        self.level = level
        self.at = at
    }
}
