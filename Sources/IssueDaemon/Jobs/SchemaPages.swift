import IssueCore
import IssueStore
import UnixIO

/// The pages of a fresh store that name the tables and say where they begin, the first one before all: in all stores of
/// a version the same.
///
/// So a file that has lost its own can be read by them.
struct SchemaPages {
    private var pages: [(number: Int, bytes: [UInt8])] = []
    private let pageBytes: Int

    /// Where the header says at which change it was told how long the file is (sqlite.org/fileformat2.html, 1.3.13).
    private static let sizeIsOfChange = 92..<96
    /// Where the tree of the schema begins in the first page, behind the header (1.3), and in all others.
    private static let treeStart = (first: 100, others: 0)
    /// The kind of a page that holds other pages of a table, and not rows (1.6).
    private static let interior: UInt8 = 5

    /// Makes a store at a path where there is none, and takes it away again.
    init(makingStoreAt path: String) throws {
        StoreFiles.remove(path)
        defer { StoreFiles.remove(path) }
        pageBytes = Int(
            try StoreWriter(
                IssueStore.StoreSettings(path: path, limits: LimitSettings(), randomBits: { Randomness.uint64() })
            ).pageBytes)
        let file = try Self.beginning(of: path, atMost: 1 << 24)
        var numbers = [1]
        while let number = numbers.popLast() {
            let start = (number - 1) * pageBytes
            guard number > 0, start + pageBytes <= file.count else { continue }
            let bytes = Array(file[start..<start + pageBytes])
            pages.append((number, bytes))
            numbers += Self.children(of: bytes, treeStart: number == 1 ? Self.treeStart.first : Self.treeStart.others)
        }
        // Of no change that ever is: so the length is that of the file itself.
        for index in Self.sizeIsOfChange { pages[0].bytes[index] = 0xFF }
    }

    private static func beginning(of path: String, atMost count: Int) throws(Errno) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try FileDescriptor.open(path).fill(&bytes, to: count)
        return bytes
    }

    /// The pages that a page of a tree holds: one in front of each cell, and the last (1.6).
    private static func children(of page: [UInt8], treeStart start: Int) -> [Int] {
        guard page[start] == interior else { return [] }
        func number(_ place: Int, _ count: Int) -> Int { page[place..<place + count].reduce(0) { $0 << 8 | Int($1) } }
        let cells = (0..<number(start + 3, 2)).map { number(start + 12 + 2 * $0, 2) }
        return cells.map { number($0, 4) } + [number(start + 8, 4)]
    }

    /// Copies a database and its log, with these pages in place of its own.
    ///
    /// - Parameter goOn: Called between two steps, and throws when there is to be none.
    func copy(_ path: String, to copy: String, goOn: () throws -> Void) throws {
        try FileSystem.copy(path, to: copy, goOn: goOn)
        var beginning = try Self.beginning(of: copy, atMost: pageBytes * (pages.map(\.number).max() ?? 1))
        for page in pages {
            let start = (page.number - 1) * pageBytes
            guard start == 0 || start + pageBytes <= beginning.count else { continue }
            beginning.replaceSubrange(start..<min(start + pageBytes, beginning.count), with: page.bytes)
        }
        try FileDescriptor.open(copy, .writeOnly).writeAll(beginning)
        if (try? FileSystem.status(of: path + "-wal")) != nil {
            try FileSystem.copy(path + "-wal", to: copy + "-wal", goOn: goOn)
        }
    }
}
