import IssueCore

extension StoreWriter {
    /// What one commit gathers before it is written.
    struct Commit {
        var time: LogClock.Reading
        var rows: RowBuffer
        var express: [(record: Int64, reason: Int64)] = []
        var newGroup = false
        /// Records of one account mostly follow each other: its sum is kept at hand.
        private var account: Int64 = 0
        private var sum = LedgerChanges.Sum()
        private var sums: [Int64: LedgerChanges.Sum] = [:]

        init(time: LogClock.Reading, rows: consuming RowBuffer) {
            self.time = time
            self.rows = rows
        }

        /// A record with so many occurrences is an account's.
        mutating func count(_ occurrences: Int64, of account: Int64) {
            if account != self.account {
                put(sum, to: self.account, in: &sums)
                self.account = account
                sum = LedgerChanges.Sum()
            }
            sum.records += 1
            sum.occurrences += occurrences
        }

        /// What each account has received.
        var allSums: [Int64: LedgerChanges.Sum] {
            var all = sums
            put(sum, to: account, in: &all)
            return all
        }

        private func put(_ sum: LedgerChanges.Sum, to account: Int64, in sums: inout [Int64: LedgerChanges.Sum]) {
            guard sum.records > 0 else { return }
            sums[account, default: LedgerChanges.Sum()].records += sum.records
            sums[account, default: LedgerChanges.Sum()].occurrences += sum.occurrences
        }
    }
}
