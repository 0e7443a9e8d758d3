package import SQLiteKit

/// A block of the record log, decoded as Storage.md describes it and without the code that wrote it.
package struct ScannedBlock {
    /// The block cannot be decoded.
    package struct Invalid: Error {
        package let reason: String
    }

    private enum Column: Int {
        case skipped, series, process, receivedAt, occurred, firstOccurred, count, message, metadata, shape, details
    }

    package let firstID: Int64
    package let lastID: Int64
    /// The ids of the records, in ascending order.
    package private(set) var ids: [Int64] = []
    private var columns: [[UInt64]]
    private var shapes: [[UInt8]] = []
    private var text: [UInt8]
    /// The size of the text if it is still compressed, or nil.
    private var textSize: Int?

    /// Decodes a row of `blocks`.
    ///
    /// - Throws: `Invalid`.
    package init(
        firstID: Int64, lastID: Int64, records: Int64, checksum: Int64, body: [UInt8]
    ) throws(Invalid) {
        self.firstID = firstID
        self.lastID = lastID
        guard checksum == Int64(Self.checksum(firstID, lastID, records, body)) else {
            throw Invalid(reason: "the checksum is wrong")
        }
        var input = Input(bytes: body)
        guard try input.byte() == 1 else { throw Invalid(reason: "the version is unknown") }
        let (headSize, headStored) = (try input.size(), try input.size())
        let (textSize, textStored) = (try input.size(), try input.size())
        let head = try Self.decompressed(try input.take(headStored), headSize)
        text = try input.take(textStored)
        self.textSize = textStored == textSize ? nil : textSize
        guard input.isAtEnd else { throw Invalid(reason: "bytes follow the text") }

        input = Input(bytes: head)
        columns = []
        for _ in Column.skipped.rawValue...Column.details.rawValue {
            let (kind, base) = (try input.byte(), Self.signed(try input.number()))
            guard kind < 2 else { throw Invalid(reason: "a column has an unknown kind") }
            var column: [UInt64] = []
            for _ in 0..<records {
                column.append(UInt64(bitPattern: base) &+ (kind == 0 ? 0 : try input.number()))
            }
            columns.append(column)
        }
        for _ in 0..<(try input.size()) { shapes.append(try input.take(try input.size())) }
        guard input.isAtEnd else { throw Invalid(reason: "bytes follow the shapes") }
        var id = firstID - 1
        for skipped in self[.skipped] {
            id += Int64(skipped) + 1
            ids.append(id)
        }
        guard id <= lastID, !ids.isEmpty else { throw Invalid(reason: "it has no ids, or ids above its last one") }
    }

    private subscript(column: Column) -> [UInt64] { columns[column.rawValue] }

    /// Returns the checksum of a block.
    package static func checksum(_ firstID: Int64, _ lastID: Int64, _ records: Int64, _ body: [UInt8]) -> UInt32 {
        var bytes: [UInt8] = []
        for number in [firstID, lastID, records] {
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        var sum: UInt32 = ~0
        for part in [bytes, body] {
            for byte in part { sum = sumOfByte[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ (sum >> 8) }
        }
        return ~sum
    }

    /// The checksums of single bytes (CRC-32 with the polynomial 0xEDB88320).
    private static let sumOfByte: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 0 ? sum >> 1 : (sum >> 1) ^ 0xEDB8_8320 }
    }

    // MARK: Values

    /// Returns the cells of the records with these indices, with the bytes that they refer to.
    fileprivate mutating func window(_ indices: Range<Int>, hasText: Bool) throws(Invalid) -> RowWindow {
        var window = RowWindow(cells: [], rest: nil)
        let places = hasText ? try self.places() : []
        for index in indices {
            window.cells.append(.int64(ids[index]))
            for column in [Column.series, .process, .receivedAt] {
                window.cells.append(.int64(Int64(bitPattern: self[column][index])))
            }
            for column in [Column.occurred, .firstOccurred] {
                let value = self[column][index]
                window.cells.append(value == 0 ? .null : .int64(Self.signed(value - 1)))
            }
            window.cells.append(.int64(Int64(bitPattern: self[.count][index])))
            guard hasText else {
                window.cells += [.null, .null, .null]
                continue
            }
            func add(_ bytes: some Sequence<UInt8>) -> Range<Int> {
                let start = window.bytes.count
                window.bytes += bytes
                return start..<window.bytes.count
            }
            let place = places[index]
            let message = self[.message][index]
            if message == 0 {
                window.cells.append(.null)
            } else {
                let range = add(text[place.message])
                window.cells.append(message % 2 == 1 ? .blob(range) : .text(range))
            }
            window.cells.append(
                self[.metadata][index] == 0 ? .null : .text(add(try metadata(of: index, place.metadata))))
            window.cells.append(self[.details][index] == 0 ? .null : .text(add(text[place.details])))
        }
        return window
    }

    private struct Place {
        var message = 0..<0
        var metadata = 0..<0
        var details = 0..<0
    }

    /// Decompresses the text, and returns where the texts of each record are in it.
    private mutating func places() throws(Invalid) -> [Place] {
        if let size = textSize {
            text = try Self.decompressed(text, size)
            textSize = nil
        }
        var places = [Place](repeating: Place(), count: ids.count)
        var end = 0
        func next(_ size: UInt64) throws(Invalid) -> Range<Int> {
            guard size <= UInt64(text.count - end) else { throw Invalid(reason: "a text ends outside") }
            defer { end += Int(size) }
            return end..<end + Int(size)
        }
        for (index, size) in self[.message].enumerated() where size > 0 {
            places[index].message = try next((size - 1) / 2)
        }
        for (index, size) in self[.metadata].enumerated() where size > 0 { places[index].metadata = try next(size - 1) }
        for (index, size) in self[.details].enumerated() where size > 0 { places[index].details = try next(size - 1) }
        guard end == text.count else { throw Invalid(reason: "a text belongs to no record") }
        return places
    }

    /// Fills the values of a record's metadata into its shape.
    private func metadata(of index: Int, _ place: Range<Int>) throws(Invalid) -> [UInt8] {
        let number = self[.shape][index]
        guard number > 0 else { return Array(text[place]) }
        guard number <= UInt64(shapes.count) else { throw Invalid(reason: "a shape does not exist") }
        let keys = shapes[Int(number) - 1].split(separator: 0x1F, omittingEmptySubsequences: false)
        let values = text[place].split(separator: 0x1F, omittingEmptySubsequences: false)
        guard keys.count == values.count + 1 else { throw Invalid(reason: "a shape and its values differ") }
        return Array(keys[0]) + zip(values, keys.dropFirst()).flatMap { $0 + $1 }
    }

    // MARK: Changes

    /// Returns the columns of `blocks` for this block without one of its records. Throws `Invalid` if the record is the
    /// only one, or is not in the block.
    package mutating func removing(_ id: Int64) throws(Invalid) -> (records: Int64, checksum: Int64, body: [UInt8]) {
        guard let index = ids.firstIndex(of: id), ids.count > 1 else { throw Invalid(reason: "it has no such record") }
        let place = try places()[index]
        var rest = self
        if index + 1 < ids.count { rest.columns[Column.skipped.rawValue][index + 1] += self[.skipped][index] + 1 }
        for column in columns.indices { rest.columns[column].remove(at: index) }
        for range in [place.details, place.metadata, place.message] { rest.text.removeSubrange(range) }
        let body = rest.uncompressed()
        let records = Int64(ids.count) - 1
        return (records, Int64(Self.checksum(firstID, lastID, records, body)), body)
    }

    private func uncompressed() -> [UInt8] {
        var head: [UInt8] = []
        for column in columns {
            // The base is 0.
            head += [1, 0]
            for value in column { head += Self.encoded(value) }
        }
        head += Self.encoded(UInt64(shapes.count))
        for shape in shapes { head += Self.encoded(UInt64(shape.count)) + shape }
        let sizes = [head.count, head.count, text.count, text.count].flatMap { Self.encoded(UInt64($0)) }
        return [1] + sizes + head + text
    }

    private static func encoded(_ number: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    private static func signed(_ number: UInt64) -> Int64 { Int64(number >> 1) ^ -Int64(number & 1) }

    // MARK: Bytes

    private struct Input {
        let bytes: [UInt8]
        var index = 0

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        var isAtEnd: Bool { index == bytes.count }

        mutating func byte() throws(Invalid) -> UInt8 {
            guard index < bytes.count else { throw Invalid(reason: "it is too short") }
            defer { index += 1 }
            return bytes[index]
        }

        mutating func number() throws(Invalid) -> UInt64 {
            var value: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 64, by: 7) {
                let byte = try byte()
                value |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return value }
            }
            throw Invalid(reason: "a number is too long")
        }

        mutating func size() throws(Invalid) -> Int {
            guard let size = Int(exactly: try number()), size <= 1 << 30 else {
                throw Invalid(reason: "a size is too large")
            }
            return size
        }

        mutating func take(_ count: Int) throws(Invalid) -> [UInt8] {
            guard count <= bytes.count - index else { throw Invalid(reason: "it is too short") }
            defer { index += count }
            return Array(bytes[index..<index + count])
        }
    }

    /// Decompresses LZ4 (github.com/lz4/lz4, doc/lz4_Block_format.md). Bytes that have the full size are not
    /// compressed.
    private static func decompressed(_ bytes: [UInt8], _ size: Int) throws(Invalid) -> [UInt8] {
        guard bytes.count != size else { return bytes }
        var input = Input(bytes: bytes)
        var output: [UInt8] = []
        output.reserveCapacity(min(size, bytes.count * 255))
        func length(_ start: UInt8) throws(Invalid) -> Int {
            var length = Int(start)
            guard start == 15 else { return length }
            while true {
                let more = try input.byte()
                length += Int(more)
                if more < 255 { return length }
            }
        }
        while true {
            let token = try input.byte()
            output += try input.take(try length(token >> 4))
            if input.isAtEnd { break }
            let distance = Int(try input.byte()) | Int(try input.byte()) << 8
            let count = try length(token & 15) + 4
            guard (1...output.count).contains(distance), output.count + count <= size else {
                throw Invalid(reason: "the compressed bytes are invalid")
            }
            for _ in 0..<count { output.append(output[output.count - distance]) }
        }
        guard output.count == size else { throw Invalid(reason: "the decompressed size is wrong") }
        return output
    }
}

extension ScannedBlock {
    /// Adds the table `records` to a connection, so that SQL sees the records of the blocks one by one. In a file of an
    /// earlier version, the real table of that name hides it.
    package static func addRecords(to connection: DatabaseConnection) throws {
        try RowTable.add(
            "records",
            columns: [
                "id INTEGER", "series INTEGER", "process INTEGER", "received_at INTEGER", "occurred INTEGER",
                "first_occurred INTEGER", "count INTEGER", "message", "metadata TEXT", "details TEXT",
            ], of: ScannedRecords(connection), to: connection)
    }

    /// Returns the block that may contain a record, or nil if there is none.
    package static func containing(_ id: Int64, _ connection: DatabaseConnection) throws(SQLiteError) -> ScannedBlock? {
        guard let block = try next(to: id, isDescending: true, connection), block.lastID >= id else { return nil }
        return block
    }

    /// Returns the block that may contain a record; if there is none, the next one in the given direction.
    fileprivate static func next(
        to id: Int64, isDescending: Bool, _ connection: DatabaseConnection
    ) throws(SQLiteError) -> ScannedBlock? {
        let sql: StaticString =
            isDescending
            ? "SELECT first_id, last_id, records, checksum, body FROM blocks WHERE first_id <= ?1 ORDER BY first_id DESC LIMIT 1"
            : """
            SELECT first_id, last_id, records, checksum, body FROM blocks
            WHERE first_id >= coalesce((SELECT max(first_id) FROM blocks WHERE first_id <= ?1), 0) AND last_id >= ?1
            ORDER BY first_id LIMIT 1
            """
        let row = try connection.first(sql, id) {
            (first: $0.int64(0), last: $0.int64(1), records: $0.int64(2), sum: $0.int64(3), body: $0.bytes(4))
        }
        guard let row else { return nil }
        do throws(Invalid) {
            return try ScannedBlock(
                firstID: row.first, lastID: row.last, records: row.records, checksum: row.sum, body: row.body)
        } catch {
            throw error.asError(inBlock: row.first)
        }
    }
}

extension ScannedBlock.Invalid {
    fileprivate func asError(inBlock id: Int64) -> SQLiteError {
        SQLiteError(code: .corrupt, message: "the block \(id) is invalid: \(reason)")
    }
}

/// The records of all blocks, as a table.
private final class ScannedRecords: RowSource {
    // Not a strong reference, because the connection owns the table and so keeps this object.
    private unowned let connection: DatabaseConnection

    init(_ connection: DatabaseConnection) {
        self.connection = connection
    }

    func rows(
        in ids: ClosedRange<Int64>, isDescending: Bool, columns: ColumnSet
    ) throws(SQLiteError) -> RowWindow? {
        var rest = max(ids.lowerBound, 1)...max(ids.upperBound, 1)
        while true {
            let start = isDescending ? rest.upperBound : rest.lowerBound
            guard var block = try ScannedBlock.next(to: start, isDescending: isDescending, connection) else {
                return nil
            }
            let found = block.ids.indices.filter { ids.contains(block.ids[$0]) }
            let isLast = isDescending ? block.firstID <= rest.lowerBound : block.lastID >= rest.upperBound
            if !isLast {
                rest = isDescending ? rest.lowerBound...block.firstID - 1 : block.lastID + 1...rest.upperBound
            }
            guard let first = found.first, let last = found.last else {
                if isLast { return nil }
                continue
            }
            do throws(ScannedBlock.Invalid) {
                let hasText = [7, 8, 9].contains { columns.contains($0) }
                var window = try block.window(first..<last + 1, hasText: hasText)
                window.rest = isLast ? nil : rest
                return window
            } catch {
                throw error.asError(inBlock: block.firstID)
            }
        }
    }
}
