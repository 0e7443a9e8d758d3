import IssueProtocol

/// What records of one snapshot share, so that each of it is looked up once.
struct KnownRows {
    /// More than a page of records or a batch nearly ever has.
    private static let most = 4096

    private var series: [Int64: KnownSeries] = [:]
    private var senders: [Int64: Sender] = [:]
    /// The code that the ids of some rows carry.
    private(set) var code: (rows: ClosedRange<Int64>, code: UInt64)?

    mutating func forget() {
        series.removeAll(keepingCapacity: true)
        senders.removeAll(keepingCapacity: true)
        code = nil
    }

    func series(_ id: Int64) -> KnownSeries? { series[id] }

    func sender(_ process: Int64) -> Sender? { senders[process] }

    mutating func learn(_ found: KnownSeries, as id: Int64) {
        if series.count >= Self.most { series.removeAll(keepingCapacity: true) }
        series[id] = found
    }

    mutating func learn(_ found: Sender, ofProcess id: Int64) {
        if senders.count >= Self.most { senders.removeAll(keepingCapacity: true) }
        senders[id] = found
    }

    mutating func learn(_ found: UInt64, ofRows rows: ClosedRange<Int64>) {
        code = (rows, found)
    }
}
