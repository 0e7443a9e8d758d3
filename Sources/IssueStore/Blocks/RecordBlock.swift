package import IssueCore
import IssueProtocol

/// A decoded block: the integers of its records, and their text, which is decompressed on demand.
///
/// Decoding never traps, whatever the bytes are. Its time and memory are limited by the numbers of bytes and records.
package final class RecordBlock {
    /// The lowest id that the block may hold. It identifies the block.
    package let firstID: RowID
    /// The highest id that the block may hold.
    package let lastID: RowID
    let checksum: Int64
    /// The records, in ascending order of their ids. Their ranges refer to `text()`.
    package let rows: [BlockRow]
    /// The size of the text before compression, in bytes.
    package let textCount: Int

    /// For each row, the number of its metadata's shape, counted from 1; 0 if the metadata is absent or verbatim.
    private let shapeNumbers: [UInt32]
    private let shapes: [ByteRange]
    private let shapeBytes: [UInt8]
    /// The stored text; empty after the first attempt to decompress it.
    private var storedText: [UInt8]
    private var decompressedText: [UInt8]?

    /// Decodes a block.
    ///
    /// - Parameters:
    ///   - header: The columns of the block's row.
    ///   - body: The body. It may contain any bytes.
    /// - Returns: Nil if the header, the checksum or the body is invalid. Does not check whether the text can
    ///   be decompressed.
    package init?(_ header: BlockHeader, body: Span<UInt8>) {
        guard header.isValid, header.checksum == Self.checksum(header, body) else { return nil }
        var reader = NumberReader(body)
        guard reader.byte() == BlockFormat.version, let headRaw = reader.count(), let headBytes = reader.count(),
            let textRaw = reader.count(), let textBytes = reader.count(),
            let headStored = reader.take(headBytes), let textStored = reader.take(textBytes), reader.isAtEnd,
            let head = Compression.decompress(headStored, count: headRaw)
        else { return nil }
        var columns = NumberReader(head.span)
        guard let rows = Self.rows(header, &columns, textCount: textRaw) else { return nil }
        var shapes: [ByteRange] = []
        guard let shapeCount = columns.count(), shapeCount <= rows.rows.count else { return nil }
        for _ in 0..<shapeCount {
            guard let count = columns.count(), let range = columns.range(count) else { return nil }
            shapes.append(range)
        }
        guard columns.isAtEnd, rows.shapes.allSatisfy({ $0 <= shapeCount }) else { return nil }
        firstID = header.firstID
        lastID = header.lastID
        checksum = header.checksum
        self.rows = rows.rows
        shapeNumbers = rows.shapes
        self.shapes = shapes
        shapeBytes = head
        textCount = textRaw
        storedText = textStored.copy()
    }

    /// Returns the checksum of a block's ids, number of records and body. Ignores `header.checksum`.
    package static func checksum(_ header: BlockHeader, _ body: Span<UInt8>) -> Int64 {
        Int64(
            Compression.checksum([header.firstID.rawValue, header.lastID.rawValue, Int64(header.records)], body))
    }

    /// Returns the bytes that the rows refer to; nil if they cannot be decompressed.
    package func text() -> [UInt8]? {
        if let decompressedText { return decompressedText }
        decompressedText = Compression.decompress(storedText.span, count: textCount)
        storedText = []
        return decompressedText
    }

    /// Returns the index of the first record with this id or a higher one; the number of records if there is none.
    package func index(from id: RowID) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the index of the record with this id; nil if the block does not contain it.
    package func index(of id: RowID) -> Int? {
        let index = index(from: id)
        return index < rows.count && rows[index].id == id ? index : nil
    }

    /// Returns the shape of a record's metadata; nil if the metadata is absent or stored verbatim.
    private func shape(of index: Int) -> ByteRange? {
        let number = Int(shapeNumbers[index])
        return number > 0 ? shapes[number - 1] : nil
    }

    /// Returns the size of a record's metadata, in bytes.
    func metadataCount(of index: Int) -> Int {
        let values = Int(rows[index].metadata.count)
        guard let shape = shape(of: index) else { return values }
        let gaps = (shape.lower..<shape.upper).count { shapeBytes[$0] == MetadataShape.separator }
        return max(0, Int(shape.count) + values - gaps - max(gaps - 1, 0))
    }

    /// Appends a record's whole metadata, which is JSON.
    ///
    /// - Parameters:
    ///   - index: The index of the record.
    ///   - text: The bytes that `text()` has returned.
    ///   - output: The bytes to append to.
    func appendMetadata(of index: Int, _ text: Span<UInt8>, to output: inout [UInt8]) {
        let values = rows[index].metadata
        guard let shape = shape(of: index) else {
            return output.append(contentsOf: text, from: values.lower, to: values.upper)
        }
        let bytes = shapeBytes
        MetadataShape.fill(bytes.span, shape, with: text, values, into: &output)
    }

    /// Returns a record's whole metadata, which is JSON; nil if it has none.
    package func metadata(of index: Int, _ text: Span<UInt8>) -> [UInt8]? {
        guard hasMetadata(index) else { return nil }
        var output: [UInt8] = []
        appendMetadata(of: index, text, to: &output)
        return output
    }

    /// Returns `true` if a record has metadata.
    func hasMetadata(_ index: Int) -> Bool { !rows[index].metadata.isEmpty || shapeNumbers[index] > 0 }

    // MARK: Decoding

    /// Decodes the columns. Returns the rows, and the number of each row's shape; nil if a column is invalid or
    /// the lengths of the texts do not add up to `textCount`.
    private static func rows(
        _ header: BlockHeader, _ reader: inout NumberReader, textCount: Int
    ) -> (rows: [BlockRow], shapes: [UInt32])? {
        let empty = BlockRow(
            series: 0, process: 0, receivedAt: 0, occurred: 0, firstOccurred: 0, count: 0, messageForm: .template,
            message: .empty, metadata: .empty, details: .empty)
        let absent = DecodedRecord.absent
        var rows = [BlockRow](repeating: empty, count: header.records)
        var shapes: [UInt32] = []
        shapes.reserveCapacity(header.records)
        var previous = header.firstID.rawValue &- 1
        var offset = 0
        var isValid = true
        /// Returns the range of the next `count` bytes of the text.
        func range(_ count: UInt64) -> ByteRange {
            guard count <= UInt64(textCount - offset) else {
                isValid = false
                return .empty
            }
            defer { offset += Int(count) }
            return ByteRange(from: offset, to: offset + Int(count))
        }
        func optional(_ value: UInt64) -> Int64 { value == 0 ? absent : BlockFormat.unzigzag(value &- 1) }
        let areComplete =
            reader.column(&rows) { row, skipped in
                if skipped >= UInt64(bitPattern: header.lastID.rawValue &- previous) { isValid = false }
                previous = previous &+ Int64(bitPattern: skipped) &+ 1
                row.id.rawValue = previous
            }
            && reader.column(&rows) { row, value in row.series.rawValue = Int64(bitPattern: value) }
            && reader.column(&rows) { row, value in row.process.rawValue = Int64(bitPattern: value) }
            && reader.column(&rows) { row, value in row.receivedAt = Int64(bitPattern: value) }
            && reader.column(&rows) { row, value in row.occurred = optional(value) }
            && reader.column(&rows) { row, value in row.firstOccurred = optional(value) }
            && reader.column(&rows) { row, value in row.count = Int64(bitPattern: value) }
            && reader.column(&rows) { row, value in
                guard value > 0 else { return }
                row.messageForm = value % 2 == 1 ? .parts : .whole
                row.message = range((value - 1) / 2)
            }
            && reader.column(&rows) { row, value in if value > 0 { row.metadata = range(value - 1) } }
            && reader.column(&rows) { _, value in
                if value > UInt32.max { isValid = false }
                shapes.append(UInt32(truncatingIfNeeded: value))
            }
            && reader.column(&rows) { row, value in if value > 0 { row.details = range(value - 1) } }
        return areComplete && isValid && offset == textCount ? (rows, shapes) : nil
    }
}

@available(*, unavailable)
extension RecordBlock: Sendable {}

/// The columns of a block's row in `blocks`, except the body.
package struct BlockHeader: Equatable {
    package var firstID: RowID
    package var lastID: RowID
    /// The number of records in the block.
    package var records: Int
    package var checksum: Int64

    package init(firstID: RowID, lastID: RowID, records: Int, checksum: Int64 = 0) {
        self.firstID = firstID
        self.lastID = lastID
        self.records = records
        self.checksum = checksum
    }

    /// Whether a block can have these numbers. Ids are below 2^60.
    var isValid: Bool {
        firstID > 0 && firstID <= lastID && lastID.rawValue < 1 << 60 && (1...BlockFormat.maxRecords).contains(records)
            && lastID.rawValue - firstID.rawValue >= Int64(records) - 1
    }
}

/// Reads numbers from untrusted bytes.
private struct NumberReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var index = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { index == bytes.count }

    @_lifetime(self: copy self)
    mutating func byte() -> UInt8? {
        guard index < bytes.count else { return nil }
        defer { index += 1 }
        return bytes[index]
    }

    @inline(__always)
    @_lifetime(self: copy self)
    mutating func number() -> UInt64? {
        if index < bytes.count, bytes[index] < 0x80 {
            defer { index &+= 1 }
            return UInt64(bytes[index])
        }
        return PostingList.number(in: bytes, at: &index)
    }

    /// Reads a number that counts bytes or elements; nil if it is invalid or exceeds `Compression.maxBytes`.
    @_lifetime(self: copy self)
    mutating func count() -> Int? {
        guard let number = number(), number <= UInt64(Compression.maxBytes) else { return nil }
        return Int(number)
    }

    /// Skips `count` bytes and returns their range; nil if fewer are left.
    @_lifetime(self: copy self)
    mutating func range(_ count: Int) -> ByteRange? {
        guard count <= bytes.count - index else { return nil }
        defer { index += count }
        return ByteRange(from: index, to: index + count)
    }

    /// Skips `count` bytes and returns them; nil if fewer are left.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    mutating func take(_ count: Int) -> Span<UInt8>? {
        guard let range = range(count) else { return nil }
        return bytes.extracting(range.lower..<range.upper)
    }

    /// Reads a column and passes the value of each row to a closure. Returns `false` if the column is invalid.
    @inline(__always)
    @_lifetime(self: copy self)
    mutating func column(_ rows: inout [BlockRow], _ store: (inout BlockRow, UInt64) -> Void) -> Bool {
        guard let kind = byte().flatMap(BlockFormat.ColumnKind.init(rawValue:)), let base = number() else {
            return false
        }
        let low = UInt64(bitPattern: BlockFormat.unzigzag(base))
        var rows = rows.mutableSpan
        switch kind {
        case .constant:
            for index in rows.indices { store(&rows[index], low) }
        case .differences:
            for index in rows.indices {
                guard let difference = number() else { return false }
                store(&rows[index], low &+ difference)
            }
        }
        return true
    }
}

/// One record as blocks store it. Its ranges refer to a separate buffer.
package struct BlockRow {
    package var id: RowID = 0
    package var series: SeriesID
    package var process: ProcessRowID
    /// The wall-clock time at which the record was received, in milliseconds since 1970-01-01 UTC.
    package var receivedAt: Int64
    /// The time at which the issue occurred minus `receivedAt`, in milliseconds; `DecodedRecord.absent` if not given.
    package var occurred: Int64
    /// The same difference for the first of `count` occurrences.
    package var firstOccurred: Int64
    /// The number of occurrences.
    package var count: Int64
    package var messageForm: DecodedRecord.MessageForm
    package var message: ByteRange
    /// The metadata as JSON. In a `RecordBlock`, only the values, unless the metadata is stored verbatim; see
    /// `RecordBlock.metadata(of:_:)`.
    package var metadata: ByteRange
    package var details: ByteRange

    /// The total size of the row's text, in bytes.
    var byteCount: Int { Int(message.count) + Int(metadata.count) + Int(details.count) }
}

/// The layout of a block's body. `Documentation/Storage.md` describes it.
package enum BlockFormat {
    static let version: UInt8 = 1
    /// The maximum number of records in a valid block. The writer's limit is lower by default: `BlockLog.maxRecords`.
    package static let maxRecords = 4096

    /// The form of a column.
    enum ColumnKind: UInt8 {
        /// Only a base is stored. All values are equal to it.
        case constant
        /// A base is stored, and then the difference between each value and the base.
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
