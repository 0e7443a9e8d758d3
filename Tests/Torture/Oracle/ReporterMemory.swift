/// Everything known about what one reporter has sent.
struct ReporterMemory {
    /// The outcome of a record, as far as its sender knows it.
    enum Receipt: Equatable {
        case none
        case stored(row: Int64)
        case rejected
    }

    let payload: Payload
    let uid: UInt32
    var calls: [SentCall] = []
    var receipts: [Receipt] = []
    /// The row of each record in the store; 0 if it was not found.
    var found: [Int64] = []
    /// The index of the first call that has not been judged.
    var firstOpen = 0

    var sent = 0
    var acknowledged = 0
    var resent = 0

    init(payload: Payload, uid: UInt32) {
        self.payload = payload
        self.uid = uid
    }

    var nextNumber: Int { receipts.count }

    /// Adds a new call and returns its index.
    mutating func began(count: Int, bad: Set<Int>) -> Int {
        calls.append(SentCall(first: nextNumber, count: count, bad: bad))
        receipts.append(contentsOf: repeatElement(.none, count: count))
        found.append(contentsOf: repeatElement(0, count: count))
        sent += count
        return calls.count - 1
    }
}
