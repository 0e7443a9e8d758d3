import CWork
import IssueCore
import IssueProtocol
import SQLiteKit
import UnixIO

@testable import IssueDaemon
@testable import IssueStore

/// A set-aside database with any damage is read to its end, as by `repair`: the file stays unchanged, no row is read
/// twice, and work and output are limited. The records can be stored, and the ledger balances.
///
/// Input: edits of a real database of half a megabyte and its WAL. Each edit has six bytes: its kind, the offset (three
/// bytes), and a number (two bytes).
enum SetAsideHarness {
    /// Three times the work for a file without a readable row: 131,072 failed lookups, and one more lookup for every
    /// eight bytes.
    private static let maxWork: UInt64 = 150_000_000
    private static let maxSteps = 2_000

    static func run(_ input: Span<UInt8>) {
        do { try check(input.array()) } catch { fatalError("The test could not be run: \(error)") }
    }

    private static func check(_ edits: [UInt8]) throws {
        let sample = try sample.get()
        let (database, wal) = edit(sample.database, sample.wal, by: edits)
        let folder = SampleStore.folder
        let (old, new, copy) = ("\(folder)/old.db", "\(folder)/new.db", "\(folder)/copy.db")
        for path in [old, new, copy] { StoreFiles.remove(path) }
        try write(database, to: old)
        if !wal.isEmpty { try write(wal, to: old + "-wal") }
        try write(sample.fresh, to: new)

        let work = fuzz_work()
        var store: SetAsideStore?
        do throws(StoreFailure) {
            store = try SetAsideStore(path: old, randomBits: 7)
        } catch {
            require(!"\(error)".isEmpty, "A failure has no description")
            if error.mayAffectOnlySchema {
                try sample.pages.copy(old, to: copy) {}
                store = try? SetAsideStore(path: copy, original: old, randomBits: 7)
            }
        }
        if let store { try importSalvaged(store, to: new, atMost: database.count + wal.count) }
        require(fuzz_work() - work <= maxWork, "Reading takes \(fuzz_work() - work) steps")
        require(try FileSystem.read(old, limit: 1 << 24) == database, "The database has changed")
        if !wal.isEmpty { require(try FileSystem.read(old + "-wal", limit: 1 << 24) == wal, "The WAL has changed") }
    }

    private static func importSalvaged(_ store: SetAsideStore, to path: String, atMost size: Int) throws {
        let writer = try StoreWriter(SampleStore.settings(path, code: 43))
        /// The ids of the records, or the numbers of those whose id is lost.
        var rows: Set<String> = []
        var steps = 0
        var bytes = 0
        var recovered: Int64 = 0
        while let portion = store.step() {
            steps += 1
            require(steps <= maxSteps, "Reading takes more than \(maxSteps) steps")
            require(portion.unreadable >= 0, "The number of unreadable rows is negative")
            for submission in portion.submissions {
                bytes += submission.batch.bytes.count
                for call in submission.calls {
                    let id = call.original?.id.text ?? "\(call.numbering?.sequence ?? 0)"
                    require(rows.insert(id).inserted, "A row was read twice")
                }
            }
            guard !portion.submissions.isEmpty else { continue }
            recovered += try writer.importSalvaged(
                portion.submissions, wall: SampleStore.start, monotonic: MonotonicInstant(sinceBoot: .seconds(9)))
        }
        // In a damaged file, rows can share overflow pages, so the rows can be larger than the file.
        require(bytes <= 64 * size, "\(bytes) bytes were read from a file of \(size)")
        require(recovered <= rows.count, "\(recovered) records were stored, but only \(rows.count) were read")
        var last: GroupID = 0
        while let (notes, next) = store.notes(above: last) {
            steps += 1
            require(steps <= maxSteps, "Reading the states takes more than \(maxSteps) steps")
            require(next > last, "The states don't advance")
            try writer.importSalvaged(notes)
            last = next
        }
        let reader = try StoreReader(path: path)
        let isBalanced = try reader.connection.integer("SELECT count(*) FROM ledger_check") == 0
        require(isBalanced, "The ledger does not balance")
        let stored = try reader.connection.integer("SELECT count(*) FROM records")
        require(stored == recovered, "\(recovered) records were stored, but the store has \(stored)")
    }

    // MARK: The file

    /// Applies the edits. An offset after the end of the database refers to the WAL.
    private static func edit(
        _ database: [UInt8], _ wal: [UInt8], by edits: [UInt8]
    ) -> (database: [UInt8], wal: [UInt8]) {
        var database = database
        // Some inputs have no WAL, like a database that was closed, or copied without its WAL.
        var wal = edits.first.map { $0 & 0x80 == 0 } ?? true ? wal : []
        for start in stride(from: 0, to: edits.count - 5, by: 6) {
            let edit = edits[start..<start + 6]
            let offset = edit[(start + 1)..<(start + 4)].reduce(0) { $0 << 8 | Int($1) }
            let number = edit[(start + 4)...].reduce(0) { $0 << 8 | Int($1) }
            let size = database.count
            guard size > 0 else { break }
            if offset >= size, !wal.isEmpty {
                let index = (offset - size) % wal.count
                if edit[start] & 1 == 0 { wal[index] = UInt8(number & 0xFF) } else { wal.removeLast(wal.count - index) }
                continue
            }
            let index = offset % size
            let page = index / pageBytes * pageBytes
            switch edit[start] & 7 {
            case 0: database[index] = UInt8(number & 0xFF)
            case 1: database[index] ^= UInt8(number & 0xFF)
            // A number larger than any length, count or page number in the file.
            case 2: for other in index..<min(index + 4, size) { database[other] = 0xFF }
            case 3: for other in index..<min(index + number % 64, size) { database[other] = UInt8(number >> 8) }
            case 4: for other in page..<min(page + pageBytes, size) { database[other] = UInt8(number & 0xFF) }
            // One page replaces another.
            case 5:
                let other = number % max(1, size / pageBytes) * pageBytes
                for offset in 0..<min(pageBytes, size - max(page, other)) {
                    database[page + offset] = database[other + offset]
                }
            case 6: database.removeLast(size - index)
            default: database += [UInt8](repeating: UInt8(number & 0xFF), count: min(number, 2 * pageBytes))
            }
        }
        return (database, wal)
    }

    private static let pageBytes = 8192

    private struct Sample {
        var database: [UInt8]
        var wal: [UInt8]
        /// A new store, before its first record.
        var fresh: [UInt8]
        var pages: SchemaPages
    }

    private static let sample = Result { () throws -> Sample in
        fuzz_count_statements()
        let path = "\(SampleStore.folder)/sample.db"
        // A writer that is closed leaves a single file, without a WAL.
        _ = try StoreWriter(SampleStore.settings(path, code: 42))
        let fresh = try FileSystem.read(path, limit: 1 << 24)
        _ = try SampleStore.fill(try StoreWriter(SampleStore.settings(path, code: 42)), calls: 0..<30)
        let writer = try StoreWriter(SampleStore.settings(path, code: 42))
        _ = try SampleStore.fill(writer, calls: 30..<34)
        // The last calls are only in the WAL.
        return Sample(
            database: try FileSystem.read(path, limit: 1 << 24),
            wal: try FileSystem.read(path + "-wal", limit: 1 << 24), fresh: fresh,
            pages: try SchemaPages(makingStoreAt: "\(SampleStore.folder)/pages.db"))
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        try FileDescriptor.open(path, [.writeOnly, .create, .truncate]).writeAll(bytes)
    }
}
