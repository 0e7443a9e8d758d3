/// A record that a batch sends, as far as the ledger and its line ask.
package struct SentRecord: Equatable, Sendable {
    package var row: Int64
    package var account: Int64
    package var count: Int64
    package var suppressedBefore: Int64
    package var occurrences: Int64

    package init(row: Int64, account: Int64, count: Int64, suppressedBefore: Int64, occurrences: Int64) {
        self.row = row
        self.account = account
        self.count = count
        self.suppressedBefore = suppressedBefore
        self.occurrences = occurrences
    }
}
