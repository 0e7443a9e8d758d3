import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Recovers the readable records of set-aside databases, and renames the databases that are finished. A dry run only
/// lists the databases.
struct RepairJob {
    private let file: String?
    private let isDryRun: Bool

    init(_ parameters: RepairParameters) {
        file = parameters.file
        isDryRun = parameters.isDryRun ?? false
    }

    func run(_ run: inout JobRun) throws -> RepairReply {
        let beginning = "\(run.fileName).damaged-"
        let known = try FileSystem.names(in: run.folder).sorted()
            .filter { name in
                name.hasPrefix(beginning) && !["-wal", "-shm", "-journal"].contains { name.hasSuffix($0) }
            }
        if let file, !known.contains(file) { throw CollectorError.notFound(id: file) }
        var reply = RepairReply(files: file.map { [$0] } ?? known)
        if !isDryRun {
            for name in reply.files { try repair(name, &reply, &run) }
        }
        reply.isDone = true
        return reply
    }

    private func repair(_ name: String, _ reply: inout RepairReply, _ run: inout JobRun) throws {
        let wal = "\(run.folder)/\(name)-wal"
        let hadWAL: Bool
        do throws(Errno) {
            _ = try FileSystem.status(of: wal)
            hadWAL = true
        } catch {
            hadWAL = error != .noSuchFile
        }
        let isDone: Bool
        do {
            // SQLite creates these files to read the database.
            defer {
                try? FileSystem.remove("\(run.folder)/\(name)-shm")
                if !hadWAL { try? FileSystem.remove(wal) }
            }
            isDone = try recover(name, &reply, &run)
        }
        if isDone { try markRepaired(name, run) }
    }

    /// Recovers the records of one database. Returns `true` if reading was not abandoned, and records were read or the
    /// database had none.
    private func recover(_ name: String, _ reply: inout RepairReply, _ run: inout JobRun) throws -> Bool {
        let path = "\(run.folder)/\(name)"
        let before = reply
        guard let store = try open(path, run) else {
            reply.unreadableFiles.append(name)
            return false
        }
        var isReadable = false
        while let portion = store.step() {
            isReadable = isReadable || !portion.submissions.isEmpty
            if !portion.submissions.isEmpty {
                let count = portion.submissions.reduce(Int64(0)) { $0 + Int64($1.batch.records.count) }
                let new = try run.writer.perform { writer in
                    try writer.importSalvaged(portion.submissions, wall: Clock.wall, monotonic: Clock.monotonic)
                }
                reply.recovered += new
                if count > new { reply.earlier = (reply.earlier ?? 0) + count - new }
            }
            reply.unreadable += portion.unreadable
            try run.progress(reply)
        }
        try importParts(run, read: store.notes) { try $0.importSalvaged($1) }
        try importParts(run, read: store.deployments) { try $0.importSalvaged($1) }
        try importParts(run, read: store.ids) { try $0.importSalvaged($1) }
        try importParts(run, read: store.corrections) { try $0.importSalvaged($1) }
        if store.isUnreadableMinimum { reply.isUnreadableMinimum = true }
        let (records, unreadable) = (
            "\(reply.recovered - before.recovered)",
            "\(store.isUnreadableMinimum ? "at least " : "")\(reply.unreadable - before.unreadable)"
        )
        let wasEmpty = reply.unreadable == before.unreadable && !store.isSizeUnknown
        guard !store.hasGivenUp, isReadable || wasEmpty else {
            reply.unreadableFiles.append(name)
            let end = store.hasGivenUp ? "reading it took too long" : "no record could be read"
            run.log.warning(
                .repairNoRecords, ["file": path, "records": records, "unreadable": unreadable, "ended": end])
            return false
        }
        run.log.notice(.repairFinished, ["file": path, "records": records, "unreadable": unreadable])
        return true
    }

    /// Imports data other than records from a set-aside database, one part at a time.
    ///
    /// - Parameters:
    ///   - read: Returns the part after a position, and the position of its end; nil if no part is left. The first
    ///     position is 0.
    ///   - store: Stores a part, on the writer thread.
    private func importParts<Position: ExpressibleByIntegerLiteral, Part: Sendable>(
        _ run: JobRun, read: (Position) -> (items: Part, last: Position)?,
        store: @escaping @Sendable (StoreWriter, Part) throws -> Void
    ) throws {
        var position: Position = 0
        while let (part, next) = read(position) {
            position = next
            try run.writer.perform { try store($0, part) }
            try run.checkCancellation()
        }
    }

    private func open(_ path: String, _ run: JobRun) throws -> SetAsideStore? {
        // Opening a pipe could block forever.
        guard (try? FileSystem.status(of: path).kind) == .regular else {
            run.log.warning(.repairNotAFile, ["file": path])
            return nil
        }
        do throws(StoreFailure) {
            return try SetAsideStore(path: path, randomBits: Randomness.uint64(), redactor: run.redactor)
        } catch {
            if error.mayAffectOnlySchema, let store = try openWithFreshSchema(path, run) { return store }
            run.log.warning(.repairUnreadable, ["file": path, "error": "\(error)"])
            return nil
        }
    }

    /// The path of the temporary copy of a set-aside database whose schema is replaced.
    ///
    /// - Parameter path: The path of the daemon's database.
    private static func copy(of path: String) -> String { "\(path).repairing" }

    /// Removes the files of a repair that was interrupted when the daemon ended.
    ///
    /// - Parameter path: The path of the daemon's database.
    static func removeLeftovers(of path: String) {
        StoreFiles.remove(copy(of: path))
    }

    /// Opens a copy with the schema of a new store; returns nil if the copy can't be opened either.
    private func openWithFreshSchema(_ path: String, _ run: JobRun) throws -> SetAsideStore? {
        let copy = Self.copy(of: run.path)
        StoreFiles.remove(copy)
        // The opened file can still be read after its removal, and a crash during reading leaves nothing behind.
        defer { StoreFiles.remove(copy) }
        let walSize = (try? FileSystem.status(of: path + "-wal").size) ?? 0
        try run.requireSpace(for: try FileSystem.status(of: path).size + walSize)
        try SchemaPages(makingStoreAt: copy).copy(path, to: copy, checkCancellation: run.checkCancellation)
        guard
            let store = try? SetAsideStore(
                path: copy, original: path, randomBits: Randomness.uint64(), redactor: run.redactor)
        else { return nil }
        run.log.notice(.repairSchemaReplaced, ["file": path])
        return store
    }

    /// Renames a finished database, so that it is not repaired again. It stays until an operator removes it. Adds a
    /// number to its name if an earlier file has the name.
    private func markRepaired(_ name: String, _ run: JobRun) throws {
        let beginning = "\(run.fileName).repaired-" + name.dropFirst("\(run.fileName).damaged-".count)
        let taken = Set(try FileSystem.names(in: run.folder))
        var done = beginning
        var number = 2
        while taken.contains(done) || taken.contains(done + "-wal") {
            done = "\(beginning)-\(number)"
            number += 1
        }
        for ending in ["", "-wal"] {
            do throws(Errno) {
                try FileSystem.rename("\(run.folder)/\(name)\(ending)", to: "\(run.folder)/\(done)\(ending)")
            } catch {
                guard error == .noSuchFile else { throw error }
            }
        }
    }
}

/// The pages of a new store that contain its schema, starting with the first page. Apart from the database header, they
/// are the same in all stores with the same version of the schema.
///
/// With them, a file that has lost its own schema can be read.
struct SchemaPages {
    private var pages: [(number: Int, bytes: [UInt8])] = []
    private let pageBytes: Int

    /// The offsets of the bytes of the "version-valid-for number" (sqlite.org/fileformat2.html, section 1.3). The
    /// stored database size is valid only if this number equals the change counter.
    private static let versionValidForOffset = 92..<96
    /// The offset of the B-tree in the first page, after the database header (section 1.3), and in all other pages.
    private static let treeOffset = (first: 100, others: 0)
    /// The type of an interior page of a table B-tree (section 1.6).
    private static let interior: UInt8 = 5

    /// Creates a store at the path, reads its schema pages, and removes it.
    init(makingStoreAt path: String) throws {
        StoreFiles.remove(path)
        defer { StoreFiles.remove(path) }
        pageBytes = Int(
            try StoreWriter(
                StoreWriterSettings(path: path, limits: LimitSettings(), randomBits: { Randomness.uint64() })
            ).pageBytes)
        let file = try Self.beginning(of: path, atMost: 1 << 24)
        var numbers = [1]
        while let number = numbers.popLast() {
            let start = (number - 1) * pageBytes
            guard number > 0, start + pageBytes <= file.count else { continue }
            let bytes = Array(file[start..<start + pageBytes])
            pages.append((number, bytes))
            numbers += Self.children(
                of: bytes, treeOffset: number == 1 ? Self.treeOffset.first : Self.treeOffset.others)
        }
        // Makes the stored database size invalid, so that SQLite uses the size of the file.
        for index in Self.versionValidForOffset { pages[0].bytes[index] = 0xFF }
    }

    private static func beginning(of path: String, atMost count: Int) throws(Errno) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try FileDescriptor.open(path).fill(&bytes, to: count)
        return bytes
    }

    /// Returns the child pages of an interior page: one per cell and the rightmost one (section 1.6). Other pages have
    /// none.
    private static func children(of page: [UInt8], treeOffset start: Int) -> [Int] {
        guard page[start] == interior else { return [] }
        func number(_ offset: Int, _ count: Int) -> Int {
            page[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
        }
        let cells = (0..<number(start + 3, 2)).map { number(start + 12 + 2 * $0, 2) }
        return cells.map { number($0, 4) } + [number(start + 8, 4)]
    }

    /// Copies a database and its WAL, replacing the database's schema pages.
    ///
    /// - Parameters:
    ///   - path: The path of the database.
    ///   - copy: The path of the copy.
    ///   - checkCancellation: Called between two steps. Throws if copying must end.
    func copy(_ path: String, to copy: String, checkCancellation: () throws -> Void) throws {
        try FileSystem.copy(path, to: copy, checkCancellation: checkCancellation)
        var beginning = try Self.beginning(of: copy, atMost: pageBytes * (pages.map(\.number).max() ?? 1))
        for page in pages {
            let start = (page.number - 1) * pageBytes
            guard start == 0 || start + pageBytes <= beginning.count else { continue }
            beginning.replaceSubrange(start..<min(start + pageBytes, beginning.count), with: page.bytes)
        }
        try FileDescriptor.open(copy, .writeOnly).writeAll(beginning)
        if (try? FileSystem.status(of: path + "-wal")) != nil {
            try FileSystem.copy(path + "-wal", to: copy + "-wal", checkCancellation: checkCancellation)
        }
    }
}
