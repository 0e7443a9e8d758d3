import IssueProtocol

/// Records of one account, one after the other, that get the same fate.
struct FateRun {
    private(set) var account: Int64 = 0
    private(set) var before = Fate.pending
    private(set) var fate = Fate.pending
    private(set) var sum = LedgerChanges.Sum()

    init() {}

    init(_ record: SentRecord, from before: Fate, to fate: Fate) {
        account = record.account
        self.before = before
        self.fate = fate
        sum = LedgerChanges.Sum(records: 1, occurrences: record.count)
    }

    /// Counts one more; false where it is not of this run.
    mutating func add(_ record: SentRecord, from before: Fate, to fate: Fate) -> Bool {
        guard record.account == account, before == self.before, fate == self.fate else { return false }
        sum.records += 1
        sum.occurrences += record.count
        return true
    }
}
