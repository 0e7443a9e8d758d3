package import IssueCore
package import IssueProtocol

/// The receipts of one call, as few words as they need.
package enum ReceiptList: Equatable, Sendable {
    /// All were stored, one after the other.
    case run(first: RecordID, count: Int)
    case mixed([RecordReceipt])

    package var count: Int {
        switch self {
        case .run(_, let count): count
        case .mixed(let receipts): receipts.count
        }
    }
}
