/// What became of a call after its commit, or of several alike that followed each other.
package struct CallOutcome: Sendable {
    package var connection: UInt64
    package var token: UInt64
    package var receipts: ReceiptList
    /// How many calls share the receipts in equal parts, the first of them `token`.
    package var calls: Int

    package init(connection: UInt64, token: UInt64, receipts: ReceiptList, calls: Int = 1) {
        self.connection = connection
        self.token = token
        self.receipts = receipts
        self.calls = calls
    }
}
