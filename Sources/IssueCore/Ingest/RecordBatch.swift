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

    /// Reserves memory for the records of calls of `count` bytes in total.
    package mutating func reserveRoom(for count: Int) {
        bytes.reserveRoom(for: count)
        records.reserveCapacity(count >> 9)
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
