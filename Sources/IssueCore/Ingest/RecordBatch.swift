package import IssueProtocol

/// Records decoded and not yet stored, their text side by side in one piece of memory.
package struct RecordBatch: Sendable {
    package var bytes = ByteBuffer()
    package var records: [DecodedRecord] = []
    /// What the numbers of the records' series mean.
    package internal(set) var directory = SeriesDirectory.none

    package init() {}

    package mutating func clear() {
        truncate(records: 0, bytes: 0)
        directory = .none
    }

    /// What a record shares with all of its series, in the form of `SeriesKey`.
    package func seriesKey(of record: DecodedRecord) -> [UInt8] {
        directory.key(record.series)
    }

    /// Makes room for what so many bytes of calls hold mostly, so that it need not grow meanwhile.
    package mutating func reserveRoom(for count: Int) {
        bytes.reserveRoom(for: count)
        records.reserveCapacity(count >> 9)
    }

    /// Forgets all but the first records and bytes.
    package mutating func truncate(records count: Int, bytes byteCount: Int) {
        records.removeSubrange(count...)
        bytes.truncate(to: byteCount)
    }

    /// A part of the bytes as a string.
    package func string(_ range: ByteRange) -> String {
        String(decoding: bytes[range.lower..<range.upper], as: UTF8.self)
    }
}
