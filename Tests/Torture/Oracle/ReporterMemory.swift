/// All that is known of what one reporter has sent.
struct ReporterMemory {
    /// What became of one record, as far as its sender was told.
    enum Receipt: Equatable {
        case none
        case stored(row: Int64)
        case rejected
    }

    let payload: Payload
    let uid: UInt32
    var calls: [SentCall] = []
    var receipts: [Receipt] = []
    /// Where each record was found in the store; 0 for nowhere.
    var found: [Int64] = []
    /// The first call that is not looked into for good yet.
    var firstOpen = 0

    var sent = 0
    var acknowledged = 0
    var resent = 0

    init(payload: Payload, uid: UInt32) {
        self.payload = payload
        self.uid = uid
    }

    var nextNumber: Int { receipts.count }

    /// Takes note of a new call, and answers its place.
    mutating func began(count: Int, bad: Set<Int>) -> Int {
        calls.append(SentCall(first: nextNumber, count: count, bad: bad))
        receipts.append(contentsOf: repeatElement(.none, count: count))
        found.append(contentsOf: repeatElement(0, count: count))
        sent += count
        return calls.count - 1
    }
}
