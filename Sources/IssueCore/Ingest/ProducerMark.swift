import IssueProtocol

/// The calls that the daemon has received from one client process, so that a call that is resent after a lost receipt
/// is not stored twice.
///
/// A client numbers its records. All numbers up to `highest` count as received. For the last calls, the ids of the
/// records are known too.
package struct ProducerMark: Equatable, Sendable {
    /// A call whose records were stored or rejected.
    package struct Call: Equatable, Sendable {
        /// The sequence number of its first record.
        package var sequence: Int64
        /// The number of its records.
        package var count: Int64
        /// The row id of its first stored record. The row ids of the others follow without gaps.
        package var firstRow: RowID
        /// The indexes of the rejected records, in ascending order.
        package var rejected: [Int64]

        package init(sequence: Int64, count: Int64, firstRow: RowID, rejected: [Int64] = []) {
            self.sequence = sequence
            self.count = count
            self.firstRow = firstRow
            self.rejected = rejected
        }

        /// The sequence number after its last record.
        var end: Int64 { sequence.clampedSum(count) }

        /// Returns `true` if `next` continues this call, so that the two can be stored as one.
        fileprivate func isContinued(by next: Call) -> Bool {
            rejected.isEmpty && next.rejected.isEmpty && next.sequence == end
                && next.firstRow.rawValue == firstRow.rawValue &+ count
                && count.clampedSum(next.count) <= ProducerMark.maxRecords
        }

        /// Returns the result of the record with a sequence number of this call.
        fileprivate func result(of number: Int64) -> PastResult {
            let index = number - sequence
            let before = rejected.count { $0 < index }
            return rejected.contains(index)
                ? .rejected : .stored(row: RowID(rawValue: firstRow.rawValue &+ index &- Int64(before)))
        }
    }

    /// The result that was sent for a record when it was first received.
    package enum PastResult: Equatable, Sendable {
        case stored(row: RowID)
        case rejected
        /// The record was received, but its result is no longer known.
        case forgotten
    }

    /// Which records of a call have been received before.
    package enum Reception: Equatable, Sendable {
        /// None of them.
        case fresh
        /// All of them were received before, and the result of at least one is still known.
        case resend([PastResult])
        /// The first records were received before; there is one result for each. The others are new.
        case straddles([PastResult])
        /// All of them were received before, and no result is known any longer.
        case forgotten
    }

    /// The maximum number of calls remembered; calls that were merged (`stored`) count as one. A client may have this
    /// many calls in flight.
    package static let maxCalls = 64
    /// The maximum number of rejected records remembered, unless the last call alone has more.
    package static let maxRejected = 1000
    /// The maximum number of records per call that are looked up, and of records in merged calls. The socket does not
    /// accept larger calls.
    package static let maxRecords: Int64 = 1 << 20

    /// The highest sequence number received; -1 if there is none.
    package internal(set) var highest: Int64
    /// The last calls, oldest first.
    package internal(set) var calls: [Call]

    package init() {
        highest = -1
        calls = []
    }

    /// Compares a call with the calls that were received before. Does not change the mark.
    ///
    /// - Parameters:
    ///   - sequence: The sequence number of its first record. Clients start at 0 or 1.
    ///   - count: The number of its records; at most `maxRecords` of them are looked up.
    package func received(sequence: Int64, count: Int64) -> Reception {
        let wanted = min(max(count, 0), Self.maxRecords)
        let last = sequence.clampedSum(wanted - 1)
        guard wanted > 0, sequence <= highest else { return .fresh }
        let known = (sequence...min(last, highest)).map(result)
        if last > highest { return .straddles(known) }
        return known.allSatisfy { $0 == .forgotten } ? .forgotten : .resend(known)
    }

    /// Adds a call whose records are part of the transaction about to be committed.
    package mutating func stored(_ call: Call) {
        guard call.count > 0 else { return }
        highest = max(highest, call.sequence.clampedSum(call.count - 1))
        if let last = calls.last, last.isContinued(by: call) {
            // Consecutive small calls are merged, so that a client may have many calls in flight.
            calls[calls.count - 1].count += call.count
            return
        }
        calls.append(call)
        if calls.count > Self.maxCalls { calls.removeFirst(calls.count - Self.maxCalls) }
        guard !call.rejected.isEmpty else { return }
        var rejected = calls.reduce(0) { $0 + $1.rejected.count }
        while rejected > Self.maxRejected, calls.count > 1 { rejected -= calls.removeFirst().rejected.count }
    }

    private func result(of number: Int64) -> PastResult {
        let call = calls.last { $0.sequence <= number && number < $0.end }
        return call?.result(of: number) ?? .forgotten
    }
}

extension ProducerMark {
    private static let version: UInt8 = 1

    /// The stored form. It is short, since it is written with each call.
    package var bytes: [UInt8] {
        var bytes = [Self.version]
        Self.append(highest, to: &bytes)
        Self.append(Int64(calls.count), to: &bytes)
        var expected = (sequence: Int64(0), row: Int64(0))
        for call in calls {
            Self.append(call.sequence &- expected.sequence, to: &bytes)
            Self.append(call.count, to: &bytes)
            Self.append(call.firstRow.rawValue &- expected.row, to: &bytes)
            Self.append(Int64(call.rejected.count), to: &bytes)
            var before: Int64 = 0
            for index in call.rejected {
                Self.append(index &- before, to: &bytes)
                before = index
            }
            // A call usually continues the one before it. Both differences are small then.
            expected = (call.sequence &+ call.count, call.firstRow.rawValue &+ call.count &- Int64(call.rejected.count))
        }
        return bytes
    }

    /// Decodes the stored form; nil if the bytes are not in that form.
    package init?(bytes: [UInt8]) {
        var rest = bytes[...]
        guard rest.popFirst() == Self.version, let highest = Self.number(from: &rest),
            let count = Self.number(from: &rest), (0...Int64(Self.maxCalls)).contains(count)
        else { return nil }

        var calls: [Call] = []
        var expected = (sequence: Int64(0), row: Int64(0))
        for _ in 0..<count {
            guard let sequence = Self.number(from: &rest), let length = Self.number(from: &rest), length > 0,
                let row = Self.number(from: &rest), let rejected = Self.number(from: &rest),
                // Each index takes at least one byte, so a count above `rest.count` is corrupt. A negative count would
                // trap below.
                (0...Int64(rest.count)).contains(rejected)
            else { return nil }
            var call = Call(
                sequence: expected.sequence &+ sequence, count: length, firstRow: RowID(rawValue: expected.row &+ row))
            var before: Int64 = 0
            for _ in 0..<rejected {
                guard let step = Self.number(from: &rest) else { return nil }
                before = before &+ step
                guard (0..<length).contains(before), before > call.rejected.last ?? -1 else { return nil }
                call.rejected.append(before)
            }
            expected = (call.sequence &+ length, call.firstRow.rawValue &+ length &- rejected)
            calls.append(call)
        }
        guard rest.isEmpty else { return nil }
        self.highest = highest
        self.calls = calls
    }

    /// Appends a number as zigzag-encoded LEB128, so that small negative numbers are short too.
    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        PostingList.append(UInt64(bitPattern: (number << 1) ^ (number >> 63)), to: &bytes)
    }

    private static func number(from bytes: inout ArraySlice<UInt8>) -> Int64? {
        var index = 0
        guard let value = PostingList.number(in: bytes.span, at: &index) else { return nil }
        bytes = bytes.dropFirst(index)
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }
}

/// The id of a producer: the UUID of one run of a client.
package struct ProducerID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses a UUID in the form of RFC 9562, in upper or lower case; nil if the text is not a UUID.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(bytes.span, from: 0, to: bytes.count)
    }

    /// Parses a UUID in a range of bytes; nil if the bytes are not a UUID.
    package init?(_ bytes: Span<UInt8>, from start: Int, to end: Int) {
        guard end - start == 36 else { return nil }
        (high, low) = (0, 0)
        for offset in 0..<36 {
            let byte = bytes[start + offset]
            switch offset {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
            default:
                guard ByteClass.isHexadecimal(byte) else { return nil }
                let digit = UInt64(byte <= UInt8(ascii: "9") ? byte & 15 : (byte & 15) + 9)
                if offset < 18 { high = high << 4 | digit } else { low = low << 4 | digit }
            }
        }
    }

    /// The sixteen bytes in big-endian order.
    package var bytes: [UInt8] {
        [high, low].flatMap { word in (0..<8).reversed().map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
    }
}

/// Parses producer ids, with a fast path for the id that was parsed last.
package struct ProducerReader: Sendable {
    /// The text that was parsed last, as five 64-bit words.
    private var written: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)
    private var last: ProducerID?

    package init() {}

    /// Returns the producer named by a UUID in a range of bytes, or nil if the bytes are not a UUID.
    package mutating func id(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> ProducerID? {
        guard end - start == 36 else { return nil }
        // Five words cover 36 bytes; the last two overlap.
        let text = (
            bytes.word(at: start), bytes.word(at: start + 8), bytes.word(at: start + 16), bytes.word(at: start + 24),
            bytes.word(at: start + 28)
        )
        if text != written {
            last = ProducerID(bytes, from: start, to: end)
            written = text
        }
        return last
    }
}

/// Prevents pipelined reports from leaving a gap in the numbers of a producer.
///
/// After a numbered report was refused, later numbered reports on the same connection are refused too, until one starts
/// at or below the lowest refused number.
package struct NumberGate: Equatable, Sendable {
    private var refusedFrom: Int64?

    package init() {}

    /// Returns `true` if a numbered report is accepted. Later ones are then accepted too, until one is refused.
    ///
    /// - Parameter sequence: The sequence number of its first record.
    package mutating func accepts(_ sequence: Int64) -> Bool {
        guard let refusedFrom else { return true }
        guard sequence <= refusedFrom else { return false }
        self.refusedFrom = nil
        return true
    }

    /// Handles an error reply to a numbered report.
    ///
    /// - Parameter sequence: The sequence number of its first record.
    package mutating func refused(_ sequence: Int64) {
        refusedFrom = min(refusedFrom ?? sequence, sequence)
    }

    /// Whether a report with any sequence number would be accepted now.
    package var isOpen: Bool { refusedFrom == nil }
}
