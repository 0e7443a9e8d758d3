internal import CSQLite

/// Reads the rows on the leaf pages of all tables with a rowid, in the file and its WAL.
///
/// Interior pages are not needed, so damaged ones hide no rows. The caller must recognize the rows by their content,
/// because a leaf page does not name its table.
///
/// The content of the file is untrusted: each function does a limited amount of work, and none traps.
package struct LeafScan {
    /// A row with a blob in the last column, and an integer or NULL in each of the others.
    package struct Row {
        /// The index of the row on its page.
        package var index: Int
        package var rowID: Int64
        package var integers: [Int64?]
        /// The blob, or its beginning if the rest is on overflow pages.
        fileprivate var blob: [UInt8]
        fileprivate var overflow: PageLayout.Overflow?
    }

    /// The number of the last page.
    package let lastPage: UInt32
    private let connection: DatabaseConnection
    private let pageBytes: Int
    private let hasPointerMap: Bool
    /// The offsets of pages in the WAL, keyed by page number.
    private var walPages: [UInt32: Int64] = [:]
    /// The pointer map page that was read last, cached because consecutive pages share it. `page` is nil if the pointer
    /// map page is unreadable.
    private var map: (number: UInt32, page: [UInt8]?) = (0, nil)
    /// The number of overflow pages that may still be read. Rows of an intact file share none, but all rows of a
    /// manipulated file can refer to the same long chain.
    private var overflowPagesLeft: Int64
    /// The numbers of the pages in the list of free pages; nil until they are needed.
    private var freePages: Set<UInt32>?
    /// The maximum number of trunk pages that are read from the list of free pages. With 8 KiB pages, they list 16 GiB
    /// of free pages.
    private static let maxTrunks = 1024
    /// The maximum size of the part of a blob that is on overflow pages, in bytes.
    private static let maxBytes: Int64 = 64 << 20

    /// Examines the WAL of a connection that has read the database. Returns nil if the size of pages is unknown.
    package init?(_ connection: DatabaseConnection) {
        guard let pageBytes = try? connection.pragma("page_size"), (512...65_536).contains(pageBytes) else {
            return nil
        }
        self.connection = connection
        self.pageBytes = Int(pageBytes)
        hasPointerMap = (try? connection.pragma("auto_vacuum")) != 0
        let wal = Self.pagesInWAL(connection, pageBytes: Int(pageBytes))
        walPages = wal.pages
        // Limited, as is the number of pages in the WAL below, so that the sum of both fits in 32 bits.
        let inFile = UInt32(min((connection.fileBytes ?? 0) / pageBytes, 1 << 31))
        // A commit may have shortened the database since the last checkpoint. Pages after the end of the file are in
        // the WAL, so a page count larger than the number of pages in the file and the WAL is wrong.
        lastPage = min(wal.pageCount ?? inFile, inFile + UInt32(min(wal.pages.count, 1 << 30)))
        overflowPagesLeft = 4 * Int64(lastPage)
    }

    /// Returns the offset of the newest committed content of each page in the WAL, and the number of pages of the
    /// database after the last commit (sqlite.org/fileformat2.html, 4). Without a readable commit, there are no
    /// offsets, and the number is nil. Stops at the first frame that is not valid.
    private static func pagesInWAL(
        _ connection: DatabaseConnection, pageBytes: Int
    ) -> (pages: [UInt32: Int64], pageCount: UInt32?) {
        var committed: [UInt32: Int64] = [:]
        var pageCount: UInt32?
        guard let size = connection.walFileBytes, size > 32,
            let header = try? connection.readFile(SQLITE_FCNTL_JOURNAL_POINTER, at: 0, count: 32),
            header.number(8, 4) == pageBytes
        else { return ([:], nil) }
        var uncommitted: [UInt32: Int64] = [:]
        var checksum = (UInt32(header.number(24, 4)), UInt32(header.number(28, 4)))
        let isBigEndian = header[3] & 1 == 1
        let frameBytes = 24 + pageBytes
        for offset in stride(from: 32, through: size - Int64(frameBytes), by: frameBytes) {
            guard let frame = try? connection.readFile(SQLITE_FCNTL_JOURNAL_POINTER, at: offset, count: frameBytes),
                // Frames from before the last reset of the WAL have another salt.
                frame[8..<16] == header[16..<24]
            else { break }
            for range in [0..<8, 24..<frameBytes] { add(frame, range, isBigEndian, to: &checksum) }
            guard frame.number(16, 4) == checksum.0, frame.number(20, 4) == checksum.1 else { break }
            uncommitted[UInt32(frame.number(0, 4))] = offset + 24
            let count = UInt32(frame.number(4, 4))
            guard count > 0 else { continue }
            committed.merge(uncommitted) { $1 }
            uncommitted = [:]
            pageCount = count
        }
        return (committed, pageCount)
    }

    /// Adds bytes to the checksum of a WAL (sqlite.org/fileformat2.html, 4.2).
    private static func add(
        _ bytes: [UInt8], _ range: Range<Int>, _ isBigEndian: Bool, to checksum: inout (UInt32, UInt32)
    ) {
        for index in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
            let words = (UInt32(bytes.number(index, 4)), UInt32(bytes.number(index + 4, 4)))
            checksum.0 &+= (isBigEndian ? words.0 : words.0.byteSwapped) &+ checksum.1
            checksum.1 &+= (isBigEndian ? words.1 : words.1.byteSwapped) &+ checksum.0
        }
    }

    /// Returns a page; nil if it cannot be read.
    private func read(_ number: UInt32) -> [UInt8]? {
        guard number > 0, number <= lastPage else { return nil }
        if let offset = walPages[number] {
            return try? connection.readFile(SQLITE_FCNTL_JOURNAL_POINTER, at: offset, count: pageBytes)
        }
        return try? connection.readFile(at: Int64(number - 1) * Int64(pageBytes), count: pageBytes)
    }

    /// Returns `false` if a page is known to belong to no table or index. Such a page can still look like a leaf page.
    ///
    /// In a file with a pointer map, these are reserved pages, and pages that the map lists as free or as overflow
    /// pages. For a page without a valid entry, or in a file without a pointer map, the list of free pages decides.
    private mutating func isInTree(_ number: UInt32) -> Bool {
        guard hasPointerMap else { return !isFree(number) }
        let pointers = PointerMap(pageBytes: pageBytes)
        guard !pointers.isReserved(number) else { return false }
        guard let position = pointers.position(of: number) else { return !isFree(number) }
        if map.number != position.map { map = (position.map, read(position.map)) }
        guard let map = map.page, let kind = PointerMap.Kind(rawValue: map[position.offset]) else {
            return !isFree(number)
        }
        return kind == .root || kind == .tree
    }

    /// Returns `true` if a page is in the list of free pages. Such a page can still contain removed records.
    private mutating func isFree(_ number: UInt32) -> Bool {
        let pages = freePages ?? readFreePages()
        freePages = pages
        return pages.contains(number)
    }

    /// Reads the list of free pages (sqlite.org/fileformat2.html, 1.5). Stops at the first trunk page that is not
    /// valid, or after `maxTrunks` trunk pages.
    private func readFreePages() -> Set<UInt32> {
        var pages: Set<UInt32> = []
        var next = read(1).map { UInt32($0.number(32, 4)) } ?? 0
        for _ in 0..<Self.maxTrunks {
            guard let trunk = read(next), !pages.contains(next) else { break }
            let count = trunk.number(4, 4)
            guard count <= pageBytes / 4 - 2 else { break }
            let leaves = (0..<count).map { UInt32(trunk.number(8 + 4 * $0, 4)) }
            guard leaves.allSatisfy({ $0 > 1 && $0 <= lastPage }) else { break }
            pages.insert(next)
            pages.formUnion(leaves)
            next = UInt32(trunk.number(0, 4))
        }
        return pages
    }

    /// Returns those rows of a page whose columns are a given number of integers or NULLs, followed by a blob. Returns
    /// none if the page is not a leaf page of a table, is not in use, is damaged, or is the first page.
    ///
    /// - Parameters:
    ///   - number: The number of the page.
    ///   - integers: The number of integer columns before the blob.
    package mutating func rows(onPage number: UInt32, integers count: Int) -> [Row] {
        // The first page belongs to the schema.
        guard number > 1, number <= lastPage, isInTree(number), let page = read(number),
            let layout = PageLayout(page, from: 0)
        else {
            return []
        }
        return layout.rows.enumerated().compactMap { Self.row($1, $0, on: page, integers: count) }
    }

    /// Parses a record (sqlite.org/fileformat2.html, 2.1). Returns nil if it is damaged, or if its columns are not
    /// `count` integers and a blob.
    private static func row(
        _ row: PageLayout.TableRow, _ index: Int, on page: [UInt8], integers count: Int
    ) -> Row? {
        let end = row.local.upperBound
        var cursor = row.local.lowerBound
        guard let headerBytes = page.variableInteger(at: &cursor), headerBytes <= UInt64(row.local.count) else {
            return nil
        }
        let headerEnd = row.local.lowerBound + Int(headerBytes)
        var start = headerEnd
        var integers: [Int64?] = []
        for _ in 0..<count {
            guard let type = page.variableInteger(at: &cursor), type <= 9, type != 7,
                case let size = [0, 1, 2, 3, 4, 6, 8, 0, 0, 0][Int(type)], start + size <= end
            else { return nil }
            switch type {
            case 0: integers.append(nil)
            case 8, 9: integers.append(Int64(type) - 8)
            default:
                // Sign extension.
                let unused = 64 - 8 * size
                integers.append((Int64(page.number(start, size)) << Int64(unused)) >> Int64(unused))
            }
            start += size
        }
        let blobBytes = Int64(end - start) + (row.overflow?.bytes ?? 0)
        guard let type = page.variableInteger(at: &cursor), cursor == headerEnd, type >= 12, type % 2 == 0,
            (type - 12) / 2 == UInt64(blobBytes)
        else { return nil }
        return Row(
            index: index, rowID: row.rowID, integers: integers, blob: Array(page[start..<end]), overflow: row.overflow)
    }

    /// Returns the blob of a row (sqlite.org/fileformat2.html, 1.7); nil if an overflow page cannot be read, the blob
    /// is too large, or too many overflow pages have been read.
    package mutating func blob(of row: Row) -> [UInt8]? {
        guard let overflow = row.overflow else { return row.blob }
        guard overflow.bytes <= Self.maxBytes, overflow.bytes <= Int64(lastPage) * Int64(pageBytes) else { return nil }
        var blob = row.blob
        var (next, left) = (overflow.firstPage, Int(overflow.bytes))
        while left > 0 {
            overflowPagesLeft -= 1
            guard overflowPagesLeft >= 0, let page = read(next) else { return nil }
            let count = min(left, pageBytes - 4)
            blob += page[4..<4 + count]
            left -= count
            next = UInt32(page.number(0, 4))
        }
        return blob
    }
}

@available(*, unavailable)
extension LeafScan: Sendable {}
