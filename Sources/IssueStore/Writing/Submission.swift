package import IssueCore
package import IssueProtocol

/// The decoded calls of one connection that wait for a commit.
package struct Submission: Sendable {
    package var process: ReportingProcess
    package var batch: RecordBatch
    /// The calls in the order in which they arrived. Consecutive similar calls are merged into one.
    package var calls: [ReportCall]

    package init(process: ReportingProcess, batch: RecordBatch, calls: [ReportCall]) {
        self.process = process
        self.batch = batch
        self.calls = calls
    }

    /// The calls one by one, with merged calls separated.
    package var eachCall: [ReportCall] { calls.flatMap(\.each) }
}

/// A decoded call that reports records, or several similar consecutive calls merged into one.
///
/// Most clients send many small calls. Consecutive calls can be merged if they have the same number of records and
/// consecutive tokens, no record was rejected, and the calls are either unnumbered or have the same producer and
/// consecutive sequence numbers.
package struct ReportCall: Sendable {
    /// A rejected record, identified by its index in the call.
    package struct Rejected: Equatable, Sendable {
        package var index: Int
        package var rejection: RecordRejection

        package init(index: Int, rejection: RecordRejection) {
            self.index = index
            self.rejection = rejection
        }
    }

    /// The producer of a call, and the sequence number of the call's first record.
    package struct Numbering: Equatable, Sendable {
        package var producer: ProducerID
        package var sequence: Int64

        package init(producer: ProducerID, sequence: Int64) {
            self.producer = producer
            self.sequence = sequence
        }
    }

    /// The id and the time of receipt of an imported record in the first database that stored it. If the id is lost,
    /// `id` is a substitute.
    package struct Original: Equatable, Sendable {
        package var id: RecordID
        /// Nil if the time is lost.
        var receivedAt: IssueTimestamp?
    }

    /// The verdicts of another database's cardinality guard on an imported record.
    package struct ImportedVerdict: Equatable, Sendable {
        var application = CardinalityGuard.ApplicationVerdict.allow
        var series = CardinalityGuard.SeriesVerdict.allow
    }

    /// An identifier that is returned with the outcome, so that the caller can find the call.
    package var token: UInt64
    /// The indices of the call's records in the batch.
    package var records: Range<Int>
    /// The rejected records, by ascending index.
    package var rejected: [Rejected]
    /// Nil if the client does not number its records.
    package var numbering: Numbering?
    /// Used only if the call is imported.
    package var verdict = ImportedVerdict()
    /// Nil if the call is not imported.
    package var original: Original?
    /// The number of merged calls; 1 for a single call. Their tokens, records and sequence numbers are consecutive.
    package private(set) var calls = 1

    /// Creates a single call.
    ///
    /// - Parameters:
    ///   - token: Returned with the outcome.
    ///   - records: The indices of the call's records in the batch.
    ///   - rejected: The rejected records, by ascending index.
    ///   - numbering: Nil if the client does not number its records.
    package init(token: UInt64, records: Range<Int>, rejected: [Rejected], numbering: Numbering?) {
        self.token = token
        self.records = records
        self.rejected = rejected
        self.numbering = numbering
    }

    /// The number of records in the call or the merged calls, including rejected ones.
    package var count: Int { records.count + rejected.count }

    /// Merges the next call into this one. Returns `false`, without a change, if the two are not similar.
    @inline(__always)
    package mutating func join(_ next: borrowing ReportCall) -> Bool {
        guard next.token == token &+ UInt64(calls), next.records.lowerBound == records.upperBound,
            next.records.count &* calls == records.count, next.calls == 1, rejected.isEmpty, next.rejected.isEmpty,
            numberingContinues(in: next.numbering)
        else { return false }
        records = records.lowerBound..<next.records.upperBound
        calls &+= 1
        return true
    }

    /// Returns `true` if the next call has the same producer and continues the sequence numbers, or if neither call is
    /// numbered.
    @inline(__always)
    private func numberingContinues(in next: Numbering?) -> Bool {
        guard let numbering, let next else { return numbering == nil && next == nil }
        return next.producer.high == numbering.producer.high && next.producer.low == numbering.producer.low
            && next.sequence == numbering.sequence &+ Int64(records.count)
    }

    /// The merged calls, one by one.
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

/// The result of a call, or of merged calls, after the commit.
package struct CallOutcome: Sendable {
    package var connection: UInt64
    package var token: UInt64
    package var receipts: ReceiptList
    /// The number of merged calls, each of which has an equal share of the receipts. `token` belongs to the first one.
    package var calls: Int

    package init(connection: UInt64, token: UInt64, receipts: ReceiptList, calls: Int = 1) {
        self.connection = connection
        self.token = token
        self.receipts = receipts
        self.calls = calls
    }
}

/// The receipts of one call, or of merged calls, in compact form.
package enum ReceiptList: Equatable, Sendable {
    /// All records were stored with consecutive ids.
    case run(first: RecordID, count: Int)
    /// One receipt per record, in order.
    case mixed([RecordReceipt])
}

/// The process at the other end of a connection.
package struct ReportingProcess: Hashable, Sendable {
    /// A number that is unique among all connections since the daemon started.
    package var connection: UInt64
    package var sender: Sender
    /// The start time of the process, in clock ticks since boot. It distinguishes the process from a later one with the
    /// same pid.
    package var startTime: Int64

    /// The user whose limits apply (`AccountableUsers`).
    package var accountableUser: UInt32

    /// - Parameter accountableUser: Nil for the sender's own user id.
    package init(connection: UInt64, sender: Sender, startTime: Int64, accountableUser: UInt32? = nil) {
        self.connection = connection
        self.sender = sender
        self.startTime = startTime
        self.accountableUser = accountableUser ?? sender.uid
    }
}
