/// What the daemon remembers of one client process, so that a call sent again after a lost receipt stores nothing twice.
///
/// A client numbers its records. All up to the mark were received; of the
/// last calls it is also known which ids their records got.
package struct ProducerMark: Equatable, Sendable {
    /// One call whose records were stored or rejected.
    package struct Call: Equatable, Sendable {
        /// The number of its first record.
        package var sequence: Int64
        package var count: Int64
        /// The row of its first stored record; those after it follow without a gap.
        package var firstRow: Int64
        /// Records that were not taken, counted from nothing, in ascending order.
        package var rejected: [Int64]

        package init(sequence: Int64, count: Int64, firstRow: Int64, rejected: [Int64] = []) {
            self.sequence = sequence
            self.count = count
            self.firstRow = firstRow
            self.rejected = rejected
        }

        var end: Int64 { sequence.clampedSum(count) }

        fileprivate func isContinued(by next: Call) -> Bool {
            rejected.isEmpty && next.rejected.isEmpty && next.sequence == end && next.firstRow == firstRow &+ count
                && count + next.count <= ProducerMark.mostRecords
        }

        fileprivate func answer(to number: Int64) -> PastAnswer {
            let place = number - sequence
            let before = rejected.count { $0 < place }
            return rejected.contains(place) ? .rejected : .stored(row: firstRow &+ place &- Int64(before))
        }
    }

    /// What a record was answered when it was received.
    package enum PastAnswer: Equatable, Sendable {
        case stored(row: Int64)
        case rejected
        /// It was received, so long ago that its id is no longer known.
        case forgotten
    }

    package enum Reception: Equatable, Sendable {
        case fresh
        /// All of it was received before, and at least one of its records is still known.
        case resend([PastAnswer])
        /// The first records were received before, as many as there are answers; the others are fresh.
        case straddles([PastAnswer])
        /// All of it was received before, too long ago to say more.
        case forgotten
    }

    /// As many calls as a client may have under way.
    package static let mostCalls = 64
    /// A longer call is not kept whole in memory for its sake; the socket lets none through either.
    package static let mostRecords: Int64 = 1 << 20

    /// The highest number received.
    package internal(set) var highest: Int64
    /// Oldest first.
    package internal(set) var calls: [Call]

    package init() {
        highest = -1
        calls = []
    }

    /// A call came in: says which of its records are known already.
    ///
    /// - Parameter sequence: The number of its first record, counted from nothing or from one.
    package func received(sequence: Int64, count: Int64) -> Reception {
        let wanted = min(max(count, 0), Self.mostRecords)
        let last = sequence.clampedSum(wanted - 1)
        guard wanted > 0, sequence <= highest else { return .fresh }
        let known = (sequence...min(last, highest)).map(answer)
        if last > highest { return .straddles(known) }
        return known.allSatisfy { $0 == .forgotten } ? .forgotten : .resend(known)
    }

    /// The records of a call are in the transaction that is about to be committed.
    package mutating func stored(_ call: Call) {
        guard call.count > 0 else { return }
        highest = max(highest, call.end.clampedDifference(1))
        if let last = calls.last, last.isContinued(by: call) {
            // Small calls that follow each other are kept as one, so that a client may have many under way.
            calls[calls.count - 1].count += call.count
            return
        }
        calls.append(call)
        if calls.count > Self.mostCalls { calls.removeFirst(calls.count - Self.mostCalls) }
    }

    private func answer(to number: Int64) -> PastAnswer {
        let call = calls.last { $0.sequence <= number && number < $0.end }
        return call?.answer(to: number) ?? .forgotten
    }
}
