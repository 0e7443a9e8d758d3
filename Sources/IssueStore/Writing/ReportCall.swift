package import IssueCore

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
