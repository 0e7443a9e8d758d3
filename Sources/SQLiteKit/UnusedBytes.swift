internal import CSQLite

/// Overwrites the parts of a database file that hold no content: unused parts of pages, free pages, and the end of the
/// last overflow page of a row.
///
/// SQLite itself removes old leftovers only when it rewrites the whole file (VACUUM). This code neither changes nor
/// moves content: it writes zeros only to bytes that nothing reads. Readers are therefore not disturbed, and a power
/// failure does no harm. Like SQLite, this code relies on the disk to change only the bytes that are written
/// (SQLITE_IOCAP_POWERSAFE_OVERWRITE).
///
/// The file is written directly, bypassing the WAL. The whole WAL must therefore have been copied into the file, and no
/// checkpoint may run meanwhile. The connection's page cache must be empty, because its pages still have the old bytes.
@safe package struct UnusedBytes {
    /// The pages of the file cannot be classified: its header or free list is corrupt, or, unlike the files of this
    /// program, it has no pointer map or reserves space on each page.
    package struct Unknown: Error {}

    private let connection: DatabaseConnection
    private let pageBytes: Int
    /// The number of pages of the database.
    package let pageCount: UInt32
    /// The first trunk page of the free list; 0 if there are no free pages.
    private let firstTrunk: UInt32
    /// The trunk pages of the free list; nil until they are needed.
    private var trunks: Set<UInt32>?
    /// The pointer map pages that have been read, by number.
    private var maps: [UInt32: [UInt8]] = [:]
    /// The number of pages that could not be parsed and were left unchanged.
    package private(set) var unread = 0

    private typealias Kind = PointerMap.Kind

    init(_ connection: DatabaseConnection) throws {
        self.connection = connection
        let header = try connection.readFile(at: 0, count: 100)
        let size = header.number(16, 2)
        // 1 means 65,536, which does not fit in two bytes.
        pageBytes = size == 1 ? 65_536 : size
        pageCount = UInt32(header.number(28, 4))
        firstTrunk = UInt32(header.number(32, 4))
        let reserved = header[20]
        let hasPointerMap = header.number(52, 4) != 0
        guard pageBytes >= 512, pageBytes & (pageBytes - 1) == 0, reserved == 0, hasPointerMap, pageCount > 0,
            Int64(pageCount) * Int64(pageBytes) <= connection.fileBytes ?? 0
        else { throw Unknown() }
    }

    /// Overwrites the unused parts of a page.
    mutating func erase(_ number: UInt32) throws {
        guard number > 0, number <= pageCount, !pointers.isReserved(number) else { return }
        if number == 1 { return try eraseInTree(number, from: 100) }
        guard let entry = try entry(of: number), let kind = Kind(rawValue: entry.kind) else {
            unread += 1
            return
        }
        switch kind {
        case .root, .tree: try eraseInTree(number, from: 0)
        case .free: try eraseFree(number)
        case .firstOverflow, .overflow: try eraseOverflow(number)
        }
    }

    // MARK: Page types

    private mutating func eraseInTree(_ number: UInt32, from start: Int) throws {
        let page = try read(number)
        guard let layout = PageLayout(page, from: start) else {
            unread += 1
            return
        }
        try overwrite(number, page, layout.unused)
    }

    private mutating func eraseFree(_ number: UInt32) throws {
        let page = try read(number)
        guard try allTrunks().contains(number) else { return try overwrite(number, page, [0..<pageBytes]) }
        let leaves = page.number(4, 4)
        guard 8 + 4 * leaves <= pageBytes else {
            unread += 1
            return
        }
        try overwrite(number, page, [8 + 4 * leaves..<pageBytes])
    }

    /// Overwrites the end of an overflow page if it is the last one of its row. Other overflow pages are full.
    ///
    /// The length of the page's content follows from the size of the row. That size is on the b-tree page where the
    /// chain of overflow pages starts.
    private mutating func eraseOverflow(_ number: UInt32) throws {
        let page = try read(number)
        guard page.number(0, 4) == 0 else { return }
        /// The first page of the chain.
        var first = number
        /// The number of pages of the chain before page `number`.
        var before: Int64 = 0
        while let entry = try entry(of: first), entry.kind == Kind.overflow.rawValue {
            first = entry.parent
            before += 1
            guard before <= Int64(pageCount) else { break }
        }
        let capacity = Int64(pageBytes - 4)
        guard let owner = try entry(of: first), owner.kind == Kind.firstOverflow.rawValue, owner.parent > 0,
            owner.parent <= pageCount,
            let layout = PageLayout(try read(owner.parent), from: owner.parent == 1 ? 100 : 0),
            let row = layout.overflows.first(where: { $0.firstPage == first }),
            case let bytes = row.bytes - before * capacity, (1...capacity).contains(bytes)
        else {
            unread += 1
            return
        }
        try overwrite(number, page, [4 + Int(bytes)..<pageBytes])
    }

    // MARK: Pointer map and free list

    private var pointers: PointerMap { PointerMap(pageBytes: pageBytes) }

    /// Returns a page's entry in the pointer map; nil if the page has none or does not exist.
    private mutating func entry(of number: UInt32) throws -> (kind: UInt8, parent: UInt32)? {
        guard number <= pageCount, let (map, offset) = pointers.position(of: number) else { return nil }
        let page = try maps[map] ?? read(map)
        maps[map] = page
        return (page[offset], UInt32(page.number(offset + 1, 4)))
    }

    /// Returns the trunk pages of the free list, which refer to other free pages.
    private mutating func allTrunks() throws -> Set<UInt32> {
        if let trunks { return trunks }
        var found: Set<UInt32> = []
        var next = firstTrunk
        while next != 0 {
            guard next <= pageCount, found.insert(next).inserted else { throw Unknown() }
            next = UInt32(try connection.readFile(at: offset(of: next), count: 4).number(0, 4))
        }
        trunks = found
        return found
    }

    // MARK: File access

    private func offset(of number: UInt32) -> Int64 { Int64(number - 1) * Int64(pageBytes) }

    private func read(_ number: UInt32) throws -> [UInt8] {
        try connection.readFile(at: offset(of: number), count: pageBytes)
    }

    /// Writes zeros to ranges of a page, in a single write from the first to the last byte that changes.
    ///
    /// - Parameters:
    ///   - number: The number of the page.
    ///   - page: The content of the page.
    ///   - ranges: The unused ranges of the page, in ascending order.
    private func overwrite(_ number: UInt32, _ page: [UInt8], _ ranges: [Range<Int>]) throws {
        let span = page.span
        var changed: Range<Int>?
        for range in ranges {
            for index in range where span[index] != 0 {
                changed = (changed?.lowerBound ?? index)..<index + 1
            }
        }
        guard let changed else { return }
        var page = page
        for range in ranges { for index in range.clamped(to: changed) { page[index] = 0 } }
        try connection.writeFile(Array(page[changed]), at: offset(of: number) + Int64(changed.lowerBound))
    }
}

extension DatabaseConnection {
    /// Overwrites the unused parts of some pages of the file.
    ///
    /// The whole WAL must have been copied into the file. Other connections cannot run a checkpoint meanwhile. Must not
    /// be called within a transaction.
    ///
    /// - Parameter pages: The numbers of the pages. Pages that do not exist are ignored.
    /// - Returns: The number of pages of the database, and the number of `pages` that could not be parsed and were left
    ///   unchanged; nil if the lock for checkpoints is not available, usually because another connection holds it.
    /// - Throws: `UnusedBytes.Unknown` if the pages cannot be classified, or `SQLiteError`.
    package func eraseUnusedBytes(
        of pages: some Sequence<UInt32>
    ) throws -> (pageCount: UInt32, unread: Int)? {
        precondition(!isInTransaction, "Must not be called within a transaction")
        releaseMemory()
        guard unsafe csqlite_checkpoint_lock(handle, 1) == SQLITE_OK else { return nil }
        defer { _ = unsafe csqlite_checkpoint_lock(handle, 0) }
        var unused = try UnusedBytes(self)
        for page in pages { try unused.erase(page) }
        return (unused.pageCount, unused.unread)
    }

    /// Syncs the WAL and the database file to disk.
    ///
    /// SQLite does not sync a WAL that it truncates. Without this, the old WAL could be back after a power cut, and
    /// SQLite would copy it into the database again.
    package func synchronizeFiles() throws(SQLiteError) {
        for file in [SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER] {
            try check(unsafe csqlite_file_sync(handle, file), file)
        }
    }

    /// Returns the numbers of all pages in the WAL file, including those in frames from before its last reset. Stops
    /// at the first frame that cannot be read.
    func pagesInWAL() -> Set<UInt32> {
        guard let size = walFileBytes, size > 32,
            let header = try? readFile(SQLITE_FCNTL_JOURNAL_POINTER, at: 0, count: 32)
        else { return [] }
        let frame = Int64(24 + header.number(8, 4))
        var pages: Set<UInt32> = []
        var offset: Int64 = 32
        while offset + frame <= size {
            guard let number = try? readFile(SQLITE_FCNTL_JOURNAL_POINTER, at: offset, count: 4) else { break }
            pages.insert(UInt32(number.number(0, 4)))
            offset += frame
        }
        return pages
    }

    func readFile(
        _ which: CInt = SQLITE_FCNTL_FILE_POINTER, at offset: Int64, count: Int
    ) throws(SQLiteError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let code = unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe csqlite_file_read(handle, which, bytes.baseAddress, CInt(count), offset)
        }
        try check(code, which)
        return bytes
    }

    func writeFile(_ bytes: [UInt8], at offset: Int64) throws(SQLiteError) {
        try check(
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe csqlite_file_write(handle, bytes.baseAddress, CInt(bytes.count), offset)
            }, SQLITE_FCNTL_FILE_POINTER)
    }

    /// - Parameter file: The file of the call that returned the code.
    private func check(_ code: CInt, _ file: CInt) throws(SQLiteError) {
        guard code != SQLITE_OK else { return }
        throw SQLiteError(
            code: ResultCode(rawValue: code), message: "The file could not be read or written",
            systemErrno: unsafe csqlite_file_errno(handle, file))
    }
}

/// The positions of entries in the pointer map of a file with `auto_vacuum` (sqlite.org/fileformat2.html, 1.8).
struct PointerMap {
    let pageBytes: Int

    /// The types of pages.
    enum Kind: UInt8 {
        case root = 1
        case free, firstOverflow, overflow, tree
    }

    private var pendingBytePage: UInt32 { UInt32(0x4000_0000 / pageBytes + 1) }

    /// Returns the number of the pointer map page that contains the entry of a page.
    private func map(of number: UInt32) -> UInt32 {
        let perMap = UInt32(pageBytes / 5 + 1)
        let map = (number - 2) / perMap * perMap + 2
        return map == pendingBytePage ? map + 1 : map
    }

    /// Returns `true` if a page belongs to the pointer map or is never used by SQLite.
    func isReserved(_ number: UInt32) -> Bool {
        number == pendingBytePage || number > 1 && map(of: number) == number
    }

    /// Returns the number of the pointer map page that contains a page's entry, and the offset of the entry in it; nil
    /// if the page has no entry.
    func position(of number: UInt32) -> (map: UInt32, offset: Int)? {
        guard number > 2, !isReserved(number), case let map = map(of: number), number > map else { return nil }
        let offset = 5 * Int(number - map - 1)
        return offset + 5 <= pageBytes ? (map, offset) : nil
    }
}

/// The used and unused parts of a b-tree page (sqlite.org/fileformat2.html, 1.6).
///
/// Unused parts may still hold the content of rows that SQLite has moved to another page, or has deleted while
/// `secure_delete` was off.
package struct PageLayout: Equatable, Sendable {
    /// The part of a row that is on overflow pages.
    package struct Overflow: Equatable, Sendable {
        package var firstPage: UInt32
        /// The number of bytes of the row on overflow pages.
        package var bytes: Int64
    }

    /// A row on a leaf page of a table.
    struct TableRow: Equatable, Sendable {
        var rowID: Int64
        /// The range of the page that contains the row's record, or only the beginning of the record if the rest is on
        /// other pages.
        var local: Range<Int>
        /// The part of the record that is not on the page; nil if there is none.
        var overflow: Overflow?
    }

    /// The unused ranges of the page, in ascending order.
    package private(set) var unused: [Range<Int>] = []
    package private(set) var overflows: [Overflow] = []
    /// The rows of a leaf page of a table, in the order of the cell pointers; empty for other types of pages.
    private(set) var rows: [TableRow] = []

    /// Parses a page. Returns nil if it is not a b-tree page, or if it is corrupt.
    ///
    /// - Parameters:
    ///   - page: The page, without space reserved for extensions at its end.
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
            guard offset >= pointers + 2 * cells, let end = form.end(ofCellAt: offset, in: page, &self)
            else { return nil }
            used.append(offset..<end)
        }
        // The first four bytes of a free block hold the offset of the next block and the size of this one. The blocks
        // are in ascending order.
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
            // The page is corrupt if its parts overlap.
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

        /// Returns the offset after a cell, and adds its row and overflow pages to the layout. Nil if the cell is
        /// corrupt.
        func end(ofCellAt offset: Int, in page: [UInt8], _ layout: inout PageLayout) -> Int? {
            var cursor = offset
            if headerBytes == 12 {
                cursor += 4
                guard cursor <= page.count else { return nil }
            }
            guard let first = page.variableInteger(at: &cursor) else { return nil }
            var end = cursor
            if self != .interiorTable {
                guard let rowID = self == .leafTable ? page.variableInteger(at: &cursor) : 0 else { return nil }
                guard let payload = Int64(exactly: first), payload <= 1 << 31 else { return nil }
                let local = localBytes(of: payload, usable: page.count)
                end = cursor + Int(local)
                var row = TableRow(rowID: Int64(bitPattern: rowID), local: cursor..<end)
                if local < payload {
                    guard end + 4 <= page.count else { return nil }
                    let overflow = Overflow(firstPage: UInt32(page.number(end, 4)), bytes: payload - local)
                    layout.overflows.append(overflow)
                    row.overflow = overflow
                    end += 4
                }
                if self == .leafTable { layout.rows.append(row) }
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
    /// Returns the big-endian number in `count` bytes from an offset.
    func number(_ offset: Int, _ count: Int) -> Int {
        var number = 0
        for index in offset..<offset + count { number = number << 8 | Int(self[index]) }
        return number
    }

    /// Reads a variable-length integer of one to nine bytes (sqlite.org/fileformat2.html, 1.6) and moves the cursor
    /// past it; nil if the page ends within it.
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
