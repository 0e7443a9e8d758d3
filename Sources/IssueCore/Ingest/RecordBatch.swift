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

/// One record as it waits to be stored: numbers, and where its text lies in its batch.
package struct DecodedRecord: Sendable {
    /// How a record's own text relates to the template of its series.
    package enum MessageForm: UInt8, Sendable {
        /// The template says it all.
        case template
        /// What the template's placeholders stand for.
        case parts
        /// The whole message, since its template can't give it back.
        case whole
    }

    /// What the record shares with all of its series, by its number in the batch's directory.
    package var series: UInt32 = 0
    package var messageForm = MessageForm.template
    package var message = ByteRange.empty
    /// A JSON object as the sender wrote it, or empty.
    package var metadata = ByteRange.empty
    /// A JSON object of what few records have (causes, backtrace, repairs), or empty.
    package var details = ByteRange.empty
    /// Milliseconds since 1970, or `absent`.
    package var occurredAt = Self.absent
    package var firstOccurredAt = Self.absent
    package var count: Int64 = 1
    package var severity = Severity.error
    package var isReportable = true

    package static let absent = Int64.min

    package init() {}
}
