import IssueCore
import IssueProtocol

/// Encodes records as the body of a block. The buffers are reused for the next block.
struct BlockEncoder {
    /// The columns and the shapes, before compression.
    private var head = ByteBuffer()
    /// The text, before compression.
    private var text = ByteBuffer()
    /// The bytes of all shapes in `shapeList`.
    private var shapes = ByteBuffer()
    /// The distinct shapes of the metadata in this block; see `MetadataShape`.
    private var shapeList: [Shape] = []
    /// For each row, the number of its metadata's shape, counted from 1; 0 if the metadata is absent or verbatim.
    private var shapeNumbers: [UInt64] = []
    /// For each row, the size of its metadata in `text`, in bytes, plus one; 0 if the row has no metadata.
    private var metadataSizes: [UInt64] = []
    /// The values of the column that is being written.
    private var column: [UInt64] = []

    /// The parts of all shapes: the text before, between and after their values.
    private var shapeParts: [ByteRange] = []
    /// For each slot, the number of the shape that was used last; 0 if none was. The slot of a record is its series id
    /// modulo the number of slots.
    private var lastShapes = [UInt64](repeating: 0, count: 64)

    private struct Shape {
        var range: ByteRange
        var hash: UInt64
        /// The indices of its parts in `shapeParts`.
        var parts: Range<Int> = 0..<0
    }

    /// Returns the body of a block.
    ///
    /// - Parameters:
    ///   - rows: The records, in ascending order of their ids; at most `BlockFormat.maxRecords`.
    ///   - bytes: The bytes that the rows refer to.
    ///   - firstID: The lowest id that the block may hold.
    mutating func encode(_ rows: ArraySlice<BlockRow>, _ bytes: Span<UInt8>, firstID: RowID) -> [UInt8] {
        precondition(!rows.isEmpty && rows.count <= BlockFormat.maxRecords, "The number of records is out of range")
        head.truncate(to: 0)
        text.truncate(to: 0)
        shapes.truncate(to: 0)
        shapeList.removeAll(keepingCapacity: true)
        shapeParts.removeAll(keepingCapacity: true)
        for index in lastShapes.indices { lastShapes[index] = 0 }
        shapeNumbers.removeAll(keepingCapacity: true)
        metadataSizes.removeAll(keepingCapacity: true)
        collectText(rows, bytes)
        writeColumns(rows, firstID)
        Self.append(shapeList, shapes, to: &head)
        return assemble()
    }

    /// Appends the number of shapes, and then the size and the bytes of each shape.
    private static func append(_ list: [Shape], _ bytes: borrowing ByteBuffer, to output: inout ByteBuffer) {
        append(UInt64(list.count), to: &output)
        for shape in list {
            append(UInt64(shape.range.count), to: &output)
            output.append(bytes.span, from: shape.range.lower, to: shape.range.upper)
        }
    }

    /// Returns the body: the version, the sizes, the head and the text. The head and the text are each compressed if
    /// that makes them smaller.
    private func assemble() -> [UInt8] {
        let packedHead = Compression.compress(head.span) ?? head.span.copy()
        let packedText = Compression.compress(text.span) ?? text.span.copy()
        var body: [UInt8] = []
        body.reserveCapacity(packedHead.count + packedText.count + 24)
        body.append(BlockFormat.version)
        for number in [head.count, packedHead.count, text.count, packedText.count] {
            PostingList.append(UInt64(number), to: &body)
        }
        body += packedHead
        body += packedText
        return body
    }

    /// Collects all messages, then all metadata values, then all details, because similar bytes compress better
    /// together.
    private mutating func collectText(_ rows: ArraySlice<BlockRow>, _ bytes: Span<UInt8>) {
        for row in rows where !row.message.isEmpty {
            text.append(bytes, from: row.message.lower, to: row.message.upper)
        }
        for row in rows {
            guard !row.metadata.isEmpty else {
                shapeNumbers.append(0)
                metadataSizes.append(0)
                continue
            }
            let textStart = text.count
            shapeNumbers.append(appendMetadata(of: row, bytes))
            metadataSizes.append(UInt64(text.count - textStart) + 1)
        }
        for row in rows where !row.details.isEmpty {
            text.append(bytes, from: row.details.lower, to: row.details.upper)
        }
    }

    /// Appends the values of a row's metadata to the text, and returns the number of the shape; or appends the metadata
    /// verbatim, and returns 0.
    private mutating func appendMetadata(of row: BlockRow, _ bytes: Span<UInt8>) -> UInt64 {
        // Records of a series usually have the same keys.
        let slot = Int(truncatingIfNeeded: row.series.rawValue) & (lastShapes.count - 1)
        let last = lastShapes[slot] > 0 ? lastShapes[slot] : shapeNumbers.last ?? 0
        if last > 0,
            MetadataShape.appendValues(
                of: bytes, row.metadata, like: shapes, shapeParts, shapeList[Int(last) - 1].parts, to: &text)
        {
            lastShapes[slot] = last
            return last
        }
        let start = shapes.count
        guard MetadataShape.split(bytes, row.metadata, shape: &shapes, values: &text) else {
            text.append(bytes, from: row.metadata.lower, to: row.metadata.upper)
            return 0
        }
        let number = numberOfShape(from: start)
        lastShapes[slot] = number
        return number
    }

    /// Returns the number of the shape whose bytes begin at `start`. Adds the shape to the list, or removes its bytes
    /// if an equal shape is already listed.
    private mutating func numberOfShape(from start: Int) -> UInt64 {
        var new = Self.shape(in: shapes, ByteRange(from: start, to: shapes.count))
        if let known = Self.index(of: new, in: shapeList, shapes) {
            shapes.truncate(to: start)
            return UInt64(known) + 1
        }
        let firstPart = shapeParts.count
        var partStart = start
        for index in start...shapes.count
        where index == shapes.count || shapes.span[index] == MetadataShape.separator {
            shapeParts.append(ByteRange(from: partStart, to: index))
            partStart = index + 1
        }
        new.parts = firstPart..<shapeParts.count
        shapeList.append(new)
        return UInt64(shapeList.count)
    }

    /// Returns the shape in a range of bytes, with its hash (FNV-1a).
    private static func shape(in bytes: borrowing ByteBuffer, _ range: ByteRange) -> Shape {
        let span = bytes.span
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in range.lower..<range.upper { hash = (hash ^ UInt64(span[index])) &* 0x100_0000_01B3 }
        return Shape(range: range, hash: hash)
    }

    /// Returns the index of an equal shape in the list; nil if there is none.
    private static func index(of new: Shape, in list: [Shape], _ bytes: borrowing ByteBuffer) -> Int? {
        let span = bytes.span
        // Consecutive records often have the same shape, so the newest shape is tried first.
        candidates: for index in list.indices.reversed() {
            let known = list[index]
            guard known.hash == new.hash, known.range.count == new.range.count else { continue }
            for offset in 0..<Int(new.range.count)
            where span[known.range.lower + offset] != span[new.range.lower + offset] { continue candidates }
            return index
        }
        return nil
    }

    // MARK: Columns

    private mutating func writeColumns(_ rows: ArraySlice<BlockRow>, _ firstID: RowID) {
        var before = firstID.rawValue &- 1
        write(rows) { row in
            let skipped = UInt64(bitPattern: row.id.rawValue &- before &- 1)
            before = row.id.rawValue
            return skipped
        }
        write(rows) { UInt64(bitPattern: $0.series.rawValue) }
        write(rows) { UInt64(bitPattern: $0.process.rawValue) }
        write(rows) { UInt64(bitPattern: $0.receivedAt) }
        write(rows) { Self.optional($0.occurred) }
        write(rows) { Self.optional($0.firstOccurred) }
        write(rows) { UInt64(bitPattern: $0.count) }
        write(rows) { row in
            switch row.messageForm {
            case .template: 0
            case .parts: 1 + 2 * UInt64(row.message.count)
            case .whole: 2 + 2 * UInt64(row.message.count)
            }
        }
        column.removeAll(keepingCapacity: true)
        swap(&column, &metadataSizes)
        writeColumn()
        swap(&column, &metadataSizes)
        column.removeAll(keepingCapacity: true)
        swap(&column, &shapeNumbers)
        writeColumn()
        swap(&column, &shapeNumbers)
        write(rows) { $0.details.isEmpty ? 0 : UInt64($0.details.count) + 1 }
    }

    @inline(__always)
    private static func optional(_ value: Int64) -> UInt64 {
        value == DecodedRecord.absent ? 0 : BlockFormat.zigzag(value) &+ 1
    }

    /// Writes a column with one value per row.
    @inline(__always)
    private mutating func write(_ rows: ArraySlice<BlockRow>, _ value: (BlockRow) -> UInt64) {
        column.removeAll(keepingCapacity: true)
        for row in rows { column.append(value(row)) }
        writeColumn()
    }

    /// Appends the values in `column` to the head.
    private mutating func writeColumn() {
        var (low, high) = (Int64.max, Int64.min)
        for value in column {
            low = min(low, Int64(bitPattern: value))
            high = max(high, Int64(bitPattern: value))
        }
        head.append((low == high ? BlockFormat.ColumnKind.constant : .differences).rawValue)
        Self.append(BlockFormat.zigzag(low), to: &head)
        guard low < high else { return }
        head.reserveRoom(for: 10 * column.count)
        for value in column { Self.append(value &- UInt64(bitPattern: low), to: &head) }
    }

    /// Appends a number as LEB128.
    @inline(__always)
    private static func append(_ number: UInt64, to output: inout ByteBuffer) {
        var rest = number
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(truncatingIfNeeded: rest))
    }
}
