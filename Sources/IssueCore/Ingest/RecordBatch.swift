package import IssueProtocol

/// Decoded records that are not stored yet, with their text in one buffer.
package struct RecordBatch: Sendable {
    package var bytes = ByteBuffer()
    package var records: [DecodedRecord] = []
    /// The directory of the numbers in `DecodedRecord.series`.
    package internal(set) var directory = SeriesDirectory.none

    package init() {}

    package mutating func clear() {
        truncate(records: 0, bytes: 0)
        directory = .none
    }

    /// Returns the key of a record's series, in the form of `SeriesKey`.
    package func seriesKey(of record: DecodedRecord) -> [UInt8] {
        directory.key(record.series)
    }

    /// Removes all but the first records and bytes.
    package mutating func truncate(records count: Int, bytes byteCount: Int) {
        records.removeSubrange(count...)
        bytes.truncate(to: byteCount)
    }

    /// Returns a range of the bytes as a string.
    package func string(_ range: ByteRange) -> String {
        String(decoding: bytes[range.lower..<range.upper], as: UTF8.self)
    }
}

/// A decoded record: numbers, and the ranges of its texts in the batch.
package struct DecodedRecord: Sendable {
    /// The form in which a record's message is stored, relative to the template of its series.
    package enum MessageForm: UInt8, Sendable {
        /// The template is the whole message.
        case template
        /// The parts that the template's placeholders replace are stored.
        case parts
        /// The whole message is stored, since the template cannot restore it.
        case whole
    }

    /// The number of its series in the batch's directory.
    package var series: UInt32 = 0
    package var messageForm = MessageForm.template
    package var message = ByteRange.empty
    /// A JSON object as the sender wrote it; empty if absent.
    package var metadata = ByteRange.empty
    /// A JSON object of rarely used fields (causes, backtrace and context); empty if absent.
    package var details = ByteRange.empty
    /// In milliseconds since 1970-01-01 UTC, or `absent`.
    package var occurredAt = Self.absent
    package var firstOccurredAt = Self.absent
    /// The number of occurrences.
    package var count: Int64 = 1
    package var severity = IssueLevel.error
    package var isReportable = true

    package static let absent = Int64.min

    package init() {}
}

/// A range of bytes in a batch, stored in eight bytes.
public struct ByteRange: Equatable, Sendable {
    /// The index of the first byte, as stored.
    public var start: UInt32
    /// The number of bytes.
    public var count: UInt32

    /// An empty range.
    public static let empty = ByteRange(start: 0, count: 0)

    /// Creates a range.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte.
    ///   - count: The number of bytes.
    @inlinable @inline(__always)
    public init(start: UInt32, count: UInt32) {
        self.start = start
        self.count = count
    }

    /// Creates a range from two indexes.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte.
    ///   - end: The index after the last byte.
    @inlinable @inline(__always)
    public init(from start: Int, to end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: end &- start)
    }

    /// The index of the first byte.
    @inlinable @inline(__always)
    public var lower: Int { Int(start) }

    /// The index after the last byte.
    @inlinable @inline(__always)
    public var upper: Int { Int(start) + Int(count) }

    /// `true` if the range contains no bytes.
    @inlinable @inline(__always)
    public var isEmpty: Bool { count == 0 }
}
