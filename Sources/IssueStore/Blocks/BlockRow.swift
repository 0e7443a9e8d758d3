package import IssueCore
import IssueProtocol

/// One record as blocks store it. Its ranges refer to a separate buffer.
package struct BlockRow {
    package var id: RowID = 0
    package var series: SeriesID
    package var process: ProcessRowID
    /// The wall-clock time at which it was received, in milliseconds since 1970-01-01 UTC.
    package var receivedAt: Int64
    /// Milliseconds from the time it was received to the time it occurred (negative if it occurred before), or
    /// `DecodedRecord.absent`.
    package var occurred: Int64
    /// The same for the first of `count` occurrences.
    package var firstOccurred: Int64
    package var count: Int64
    package var messageForm: DecodedRecord.MessageForm
    package var message: ByteRange
    /// The metadata as the sender wrote it. In a `RecordBlock`, only its values: see `RecordBlock.metadata(of:)`.
    package var metadata: ByteRange
    package var details: ByteRange

    /// The total size of its text, in bytes.
    var byteCount: Int { Int(message.count) + Int(metadata.count) + Int(details.count) }
}

/// The layout of a block's body. `Documentation/Storage.md` describes it.
package enum BlockFormat {
    static let version: UInt8 = 1
    /// The maximum number of records in a block that readers accept. The writer uses `BlockLog.maxRecords`.
    package static let maxRecords = 4096

    /// The form of a column.
    enum ColumnKind: UInt8 {
        /// All values are equal, and only the base is stored.
        case constant
        /// The difference between each value and the base follows.
        case differences
    }

    /// Encodes an integer so that a small magnitude becomes a small unsigned number.
    @inline(__always)
    static func zigzag(_ value: Int64) -> UInt64 { UInt64(bitPattern: (value << 1) ^ (value >> 63)) }

    @inline(__always)
    static func unzigzag(_ value: UInt64) -> Int64 {
        Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }
}
