package import IssueCore

/// One call that reports records, decoded.
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

    package init(token: UInt64, records: Range<Int>, rejected: [Rejected], numbering: Numbering?) {
        self.token = token
        self.records = records
        self.rejected = rejected
        self.numbering = numbering
    }

    /// How many records the client sent in it.
    package var count: Int { records.count + rejected.count }
}
