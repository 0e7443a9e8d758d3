import IssueCore

extension StoreWriter {
    /// What one commit gathers before it is written.
    struct Commit {
        var time: LogClock.Reading
        var rows: RowBuffer
        /// Out of the writer while records are taken: each access to a part of that would cost as much as finding one's
        /// series.
        var open = OpenRange(firstID: 0)
        var series = SeriesTable()
        var express: [News] = []
        var newGroup = false
        /// The accounts of the records, and what each has received.
        private var accounts = DenseNumbers()
        private var sums: [LedgerChanges.Sum] = []

        init(time: LogClock.Reading, rows: consuming RowBuffer) {
            self.time = time
            self.rows = rows
        }

        /// A record with so many occurrences is an account's.
        mutating func count(_ occurrences: Int64, of account: Int64) {
            let number = accounts.number(of: account)
            if number == sums.count { sums.append(LedgerChanges.Sum()) }
            sums[number].records += 1
            sums[number].occurrences += occurrences
        }

        /// What each account has received.
        var allSums: some Sequence<(Int64, LedgerChanges.Sum)> { zip(accounts.ids, sums) }
    }
}
