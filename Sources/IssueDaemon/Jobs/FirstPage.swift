import IssueCore
import IssueStore
import UnixIO

/// The first page of a fresh store, which names the tables and says where they begin: in all stores of a version the
/// same.
///
/// So a file that has lost its own can be read by it.
struct FirstPage {
    private let bytes: [UInt8]

    private static let chunk = 1 << 20
    /// Where the header says at which change it was told how long the file is (sqlite.org/fileformat2.html, 1.3.13).
    private static let sizeIsOfChange = 92..<96

    /// Makes a store at a path where there is none, and takes it away again.
    init(makingStoreAt path: String) throws {
        Self.remove(path)
        defer { Self.remove(path) }
        _ = try StoreWriter(
            IssueStore.StoreSettings(path: path, limits: LimitSettings(), randomBits: { Randomness.uint64() }))
        let pageBytes = 8192
        var page: [UInt8] = []
        let file = try FileDescriptor.open(path)
        while page.count < pageBytes, try file.read(appendingTo: &page, atMost: pageBytes - page.count) > 0 {}
        // Of no change that ever is: so the length is that of the file itself.
        for index in Self.sizeIsOfChange where index < page.count { page[index] = 0xFF }
        bytes = page
    }

    /// Copies a database and its log, with this page in place of its own.
    ///
    /// - Parameter goOn: Called between two steps, and throws when there is to be none.
    func copy(_ path: String, to copy: String, goOn: () throws -> Void) throws {
        try Self.copy(path, to: copy, beginning: bytes, goOn)
        if (try? FileSystem.status(of: path + "-wal")) != nil {
            try Self.copy(path + "-wal", to: copy + "-wal", goOn)
        }
    }

    /// Removes a database with all that belongs to it.
    static func remove(_ path: String) {
        for ending in ["", "-wal", "-shm", "-journal"] { try? FileSystem.remove(path + ending) }
    }

    private static func copy(
        _ path: String, to copy: String, beginning: [UInt8] = [], _ goOn: () throws -> Void
    ) throws {
        let source = try FileDescriptor.open(path)
        let target = try FileDescriptor.open(copy, [.writeOnly, .create, .exclusive, .noFollow])
        var chunk: [UInt8] = []
        var isFirst = true
        while true {
            try goOn()
            chunk.removeAll(keepingCapacity: true)
            guard try source.read(appendingTo: &chunk, atMost: Self.chunk) > 0 else { return }
            if isFirst { chunk.replaceSubrange(0..<min(beginning.count, chunk.count), with: beginning) }
            isFirst = false
            try target.writeAll(chunk)
        }
    }
}
