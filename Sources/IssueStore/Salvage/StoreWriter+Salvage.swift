package import IssueCore
package import IssueProtocol

extension StoreWriter {
    /// Stores records of a database that was set aside, those that have not been brought over before.
    ///
    /// No guard against new groups counts them: they were let in once.
    ///
    /// - Returns: how many are new.
    package func bringOver(
        _ submissions: [Submission], wall: Timestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> Int64 {
        isBringingOver = true
        defer { isBringingOver = false }
        let outcomes = try commit(submissions, wall: wall, monotonic: monotonic)
        return outcomes.reduce(0) { $0 + $1.receipts.storedCount }
    }
}

extension ReceiptList {
    /// How many records were stored that were not there before.
    fileprivate var storedCount: Int64 {
        switch self {
        case .run(_, let count): Int64(count)
        case .mixed(let receipts):
            Int64(
                receipts.count { receipt in
                    if case .stored = receipt { true } else { false }
                })
        }
    }
}
