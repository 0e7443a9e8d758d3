/// The used and unused parts of a b-tree page (sqlite.org/fileformat2.html, 1.6).
///
/// Unused parts may hold anything that was on the page before: SQLite leaves it there when it moves rows to another
/// page, and when it deletes rows while `secure_delete` is off.
package struct PageLayout: Equatable, Sendable {
    /// A row that continues on overflow pages.
    package struct Overflow: Equatable, Sendable {
        package var firstPage: UInt32
        /// The number of bytes of the row on its overflow pages.
        package var bytes: Int64
    }

    /// The unused ranges of the page, in ascending order.
    package private(set) var unused: [Range<Int>] = []
    package private(set) var overflows: [Overflow] = []

    /// Parses a page. Returns nil if it is not a b-tree page, or if it is corrupt.
    ///
    /// - Parameters:
    ///   - page: The whole page, without space reserved for extensions.
    ///   - start: The offset of the page header: 100 on the first page of a file, otherwise 0.
    package init?(_ page: [UInt8], from start: Int) {
        let size = page.count
        guard (512...65_536).contains(size), start == 0 || start == 100 else { return nil }
        let kind = page[start]
        guard let form = PageKind(rawValue: kind) else { return nil }
        let cells = page.number(start + 3, 2)
        let pointers = start + form.headerBytes
        guard pointers + 2 * cells <= size else { return nil }
        var used: [Range<Int>] = [0..<pointers + 2 * cells]
        used.reserveCapacity(cells + 8)
        for index in 0..<cells {
            let offset = page.number(pointers + 2 * index, 2)
            guard offset >= pointers + 2 * cells, let end = form.end(ofCellAt: offset, in: page, &overflows)
            else { return nil }
            used.append(offset..<end)
        }
        // The first four bytes of a free block hold the offset of the next one and its own size. The blocks are in
        // ascending order.
        var free = page.number(start + 1, 2)
        while free != 0 {
            guard free + 4 <= size else { return nil }
            let bytes = page.number(free + 2, 2)
            guard bytes >= 4, free + bytes <= size else { return nil }
            used.append(free..<free + 4)
            let next = page.number(free, 2)
            guard next == 0 || next >= free + bytes else { return nil }
            free = next
        }
        used.sort { $0.lowerBound < $1.lowerBound }
        var end = 0
        for range in used {
            // Overlapping parts: the page is corrupt.
            guard range.lowerBound >= end else { return nil }
            if range.lowerBound > end { unused.append(end..<range.lowerBound) }
            end = range.upperBound
        }
        if end < size { unused.append(end..<size) }
    }

    private enum PageKind: UInt8 {
        case interiorIndex = 2
        case interiorTable = 5
        case leafIndex = 10
        case leafTable = 13

        var headerBytes: Int { self == .interiorIndex || self == .interiorTable ? 12 : 8 }

        func end(ofCellAt offset: Int, in page: [UInt8], _ overflows: inout [Overflow]) -> Int? {
            var cursor = offset
            if headerBytes == 12 {
                cursor += 4
                guard cursor <= page.count else { return nil }
            }
            guard let first = page.variableInteger(at: &cursor) else { return nil }
            var end = cursor
            if self != .interiorTable {
                if self == .leafTable, page.variableInteger(at: &cursor) == nil { return nil }
                guard let payload = Int64(exactly: first), payload <= 1 << 31 else { return nil }
                let local = localBytes(of: payload, usable: page.count)
                end = cursor + Int(local)
                if local < payload {
                    guard end + 4 <= page.count else { return nil }
                    overflows.append(
                        Overflow(firstPage: UInt32(page.number(end, 4)), bytes: payload - local))
                    end += 4
                }
            }
            // A cell takes at least four bytes, so that a free block can replace it.
            end = max(end, offset + 4)
            return end <= page.count ? end : nil
        }

        /// Returns the number of bytes of a row that are on the page itself.
        private func localBytes(of payload: Int64, usable: Int) -> Int64 {
            let usable = Int64(usable)
            let maxLocal = self == .leafTable ? usable - 35 : (usable - 12) * 64 / 255 - 23
            if payload <= maxLocal { return payload }
            let minLocal = (usable - 12) * 32 / 255 - 23
            let some = minLocal + (payload - minLocal) % (usable - 4)
            return some <= maxLocal ? some : minLocal
        }
    }
}

extension [UInt8] {
    /// Returns a big-endian number of `count` bytes.
    func number(_ offset: Int, _ count: Int) -> Int {
        var number = 0
        for index in offset..<offset + count { number = number << 8 | Int(self[index]) }
        return number
    }

    /// Returns a variable-length integer of one to nine bytes (1.6.1); nil if the page ends within it.
    func variableInteger(at cursor: inout Int) -> UInt64? {
        var number: UInt64 = 0
        for index in 0..<9 {
            guard cursor < count else { return nil }
            let byte = self[cursor]
            cursor += 1
            if index == 8 { return number << 8 | UInt64(byte) }
            number = number << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return number }
        }
        return number
    }
}
