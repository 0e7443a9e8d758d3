import IssueCore
import IssueStore
import UnixIO

/// The first page of a fresh store, which names the tables and says where they begin: in all stores of a version the
/// same.
///
/// So a file that has lost its own can be read by it.
struct FirstPage {
    private let bytes: [UInt8]

    /// Where the header says at which change it was told how long the file is (sqlite.org/fileformat2.html, 1.3.13).
    private static let sizeIsOfChange = 92..<96

    /// Makes a store at a path where there is none, and takes it away again.
    init(makingStoreAt path: String) throws {
        StoreFiles.remove(path)
        defer { StoreFiles.remove(path) }
        let pageBytes = Int(
            try StoreWriter(
                IssueStore.StoreSettings(path: path, limits: LimitSettings(), randomBits: { Randomness.uint64() })
            ).pageBytes)
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
        try FileSystem.copy(path, to: copy, goOn: goOn)
        try FileDescriptor.open(copy, .writeOnly).writeAll(bytes)
        if (try? FileSystem.status(of: path + "-wal")) != nil {
            try FileSystem.copy(path + "-wal", to: copy + "-wal", goOn: goOn)
        }
    }
}
