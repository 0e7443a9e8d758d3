package import IssueCore
package import IssueProtocol

/// Calls of one connection that wait for their commit.
package struct Submission: Sendable {
    package var process: ReportingProcess
    package var batch: RecordBatch
    /// In the order in which they came; those alike that followed each other are one.
    package var calls: [ReportCall]

    package init(process: ReportingProcess, batch: RecordBatch, calls: [ReportCall]) {
        self.process = process
        self.batch = batch
        self.calls = calls
    }

    /// Its calls one by one, for whoever answers each of them.
    package var eachCall: [ReportCall] { calls.flatMap(\.each) }
}

/// One call that reports records, decoded; or several alike that followed each other.
///
/// Most clients send one small call after the other. A run of them is taken and
/// answered as one, as long as each carries as many records, none of which was
/// rejected.
package struct ReportCall: Sendable {
    /// A record that was not taken, by its place in the call.
    package struct Rejected: Equatable, Sendable {
        package var index: Int
        package var rejection: RecordRejection

        package init(index: Int, rejection: RecordRejection) {
            self.index = index
            self.rejection = rejection
        }
    }

    /// Who numbers its records, and the number of the first one of the call.
    package struct Numbering: Equatable, Sendable {
        package var producer: ProducerID
        package var sequence: Int64

        package init(producer: ProducerID, sequence: Int64) {
            self.producer = producer
            self.sequence = sequence
        }
    }

    /// Given back with the outcome, so that the caller finds the reply it belongs to.
    package var token: UInt64
    /// Which records of the batch are the call's.
    package var records: Range<Int>
    package var rejected: [Rejected]
    package var numbering: Numbering?
    /// How many calls it stands for, whose tokens, records and numbers go on from one to the next.
    package private(set) var calls = 1

    package init(token: UInt64, records: Range<Int>, rejected: [Rejected], numbering: Numbering?) {
        self.token = token
        self.records = records
        self.rejected = rejected
        self.numbering = numbering
    }

    /// How many records the client sent in it.
    package var count: Int { records.count + rejected.count }

    /// Takes in the call that follows; says no where that is not alike.
    @inline(__always)
    package mutating func join(_ next: borrowing ReportCall) -> Bool {
        guard next.token == token &+ UInt64(calls), next.records.lowerBound == records.upperBound,
            next.records.count &* calls == records.count, next.calls == 1, rejected.isEmpty, next.rejected.isEmpty,
            isNumbered(before: next.numbering)
        else { return false }
        records = records.lowerBound..<next.records.upperBound
        calls &+= 1
        return true
    }

    /// Whether what follows is numbered on from here, or neither is numbered.
    @inline(__always)
    private func isNumbered(before next: Numbering?) -> Bool {
        guard let numbering, let next else { return numbering == nil && next == nil }
        return next.producer.high == numbering.producer.high && next.producer.low == numbering.producer.low
            && next.sequence == numbering.sequence &+ Int64(records.count)
    }

    /// The calls that it stands for, one by one.
    package var each: [ReportCall] {
        guard calls > 1 else { return [self] }
        let size = records.count / calls
        return (0..<calls).map { index in
            let first = records.lowerBound + index * size
            var call = self
            call.calls = 1
            call.token = token + UInt64(index)
            call.records = first..<(first + size)
            call.numbering?.sequence += Int64(index * size)
            return call
        }
    }
}

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

/// The process at the other end of a connection, as the kernel describes it.
package struct ReportingProcess: Hashable, Sendable {
    /// A number that no other connection of this run of the daemon has.
    package var connection: UInt64
    package var sender: Sender
    /// When the process started, in the kernel's ticks since boot: tells it from a later one with the same pid.
    package var startTime: Int64

    /// The user whose limits apply: the sender's user, or the owner of a subordinate id.
    package var accountableUser: UInt32

    /// - Parameter accountableUser: Nil for the sender's own user id.
    package init(connection: UInt64, sender: Sender, startTime: Int64, accountableUser: UInt32? = nil) {
        self.connection = connection
        self.sender = sender
        self.startTime = startTime
        self.accountableUser = accountableUser ?? sender.uid
    }
}
