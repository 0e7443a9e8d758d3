/// What became of a call after its commit.
package struct CallOutcome: Sendable {
    package var connection: UInt64
    package var token: UInt64
    package var receipts: ReceiptList

    package init(connection: UInt64, token: UInt64, receipts: ReceiptList) {
        self.connection = connection
        self.token = token
        self.receipts = receipts
    }
}
