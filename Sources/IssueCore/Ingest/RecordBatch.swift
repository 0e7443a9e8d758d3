package import IssueProtocol

/// Decoded records that are not stored yet, with their text in one buffer.
package struct RecordBatch: Sendable {
    package var bytes = ByteBuffer()
    package var records: [DecodedRecord] = []
    /// The directory that the numbers in `DecodedRecord.series` refer to.
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

    /// Keeps only the first `count` records and the first `byteCount` bytes.
    package mutating func truncate(records count: Int, bytes byteCount: Int) {
        records.removeSubrange(count...)
        bytes.truncate(to: byteCount)
    }

    /// Returns a range of the bytes as a string.
    package func string(_ range: ByteRange) -> String {
        String(decoding: bytes[range.lower..<range.upper], as: UTF8.self)
    }
}

/// A decoded record. Its texts are ranges of the batch's bytes.
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
    /// The message, or its parts; empty if the template is the whole message.
    package var message = ByteRange.empty
    /// A JSON object as the sender wrote it, without secrets; empty if absent.
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

    /// The value of an absent time.
    package static let absent = Int64.min

    package init() {}
}

/// A range of bytes in a buffer, stored in eight bytes.
public struct ByteRange: Equatable, Sendable {
    /// The index of the first byte.
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
    ///   - start: The index of the first byte, less than 2^32.
    ///   - end: The index after the last byte. The range must have fewer than 2^32 bytes.
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

    /// Whether the range contains no bytes.
    @inlinable @inline(__always)
    public var isEmpty: Bool { count == 0 }
}

/// The series that the records of a batch refer to by number. A number takes four bytes per record instead of a whole
/// key.
///
/// The decoder adds series to it and gives each batch a copy. Adding a key to a copied directory copies only `tail`,
/// which is short. The list of full pieces is copied only when a piece becomes full.
package struct SeriesDirectory: Sendable {
    /// The identity of a numbering. A directory and all its copies share it, even after series were added to one of
    /// them.
    package final class Identity: Sendable {}

    /// A directory is full if it has this many series, or if their keys have this size in bytes.
    static let maxSeries = 32_768
    static let maxBytes = 16 << 20
    /// The number of keys in a piece.
    private static let pieceSize = 32

    /// The directory of an empty batch.
    static let none = SeriesDirectory(identity: nil, generation: 0)

    /// The identity of the numbering; nil for the directory of an empty batch.
    package let identity: Identity?
    /// The number of directories that the decoder has had, including this one.
    let generation: Int
    /// Pieces of `pieceSize` keys each.
    private var pieces: [[[UInt8]]] = []
    /// The keys after those of the full pieces.
    private var tail: [[UInt8]] = []
    /// The number of series.
    private(set) var count: UInt32 = 0
    /// The size of all keys, in bytes.
    private var byteCount = 0

    private init(identity: Identity?, generation: Int) {
        self.identity = identity
        self.generation = generation
    }

    /// Creates an empty directory with its own numbering.
    init(generation: Int) {
        self.init(identity: Identity(), generation: generation)
    }

    /// Whether new series should go into another directory.
    var isFull: Bool { count >= Self.maxSeries || byteCount >= Self.maxBytes }

    /// Adds a series with a key in the form of `SeriesKey` and returns its number.
    mutating func append(_ key: [UInt8]) -> UInt32 {
        tail.append(key)
        if tail.count == Self.pieceSize {
            pieces.append(tail)
            tail = []
        }
        count += 1
        byteCount += key.count
        return count - 1
    }

    /// Returns the key of a series.
    package func key(_ number: UInt32) -> [UInt8] {
        let (piece, index) = Int(number).quotientAndRemainder(dividingBy: Self.pieceSize)
        return piece < pieces.count ? pieces[piece][index] : tail[index]
    }
}
