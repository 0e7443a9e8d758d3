import Foundation
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("Recovering blocks although their table is damaged")
struct BlockScanTests {
    /// A page of the table `blocks`.
    private struct Page {
        var number: Int
        var type: String
        /// The number of cells, which are blocks on a leaf page.
        var cells: Int64
        var path: String
    }

    /// A store to be damaged.
    struct Shape: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var calls: Int
        var recordsPerCall: Int
        var recordsPerBlock: Int
        /// The size of each record's metadata, in bytes.
        var noise: Int

        var records: Int64 { Int64(calls * recordsPerCall) }

        static let small = Self(
            testDescription: "small blocks", calls: 12, recordsPerCall: 100, recordsPerBlock: 10, noise: 60)
        static let overflowing = Self(
            testDescription: "blocks on overflow pages", calls: 20, recordsPerCall: 100, recordsPerBlock: 100,
            noise: 150)
        /// With an interior page below the root page.
        static let deep = Self(
            testDescription: "a block per page", calls: 11, recordsPerCall: 100, recordsPerBlock: 1, noise: 5000)
    }

    /// Stores records of a shape, and moves the database aside.
    ///
    /// - Parameters:
    ///   - wal: `true` to store some more records, which stay in the WAL.
    ///   - change: Changes the database before it is moved. Not called if `wal` is `true`.
    private func setAside(
        _ shape: Shape, _ store: TemporaryStore, wal: Bool = false,
        change: (DatabaseConnection) throws -> Void = { _ in }
    ) throws -> String {
        store.settings.rangeRecords = 300
        store.settings.blockRecords = shape.recordsPerBlock
        let old = store.path + ".old"
        var samples = SampleRecords(seed: 4)
        do {
            let writer = try store.writer()
            for call in 0..<shape.calls + (wal ? 1 : 0) {
                if call == shape.calls { _ = try writer.checkpoint() }
                let records = samples.records(call == shape.calls ? 3 : shape.recordsPerCall).map { record in
                    var record = record
                    if shape.noise > 0 { record.metadata = ["noise": .string(samples.noise(shape.noise))] }
                    return record
                }
                try store.store(records, to: writer)
            }
            if !wal {
                try change(store.shell())
                _ = try writer.checkpoint()
            }
            // The writer is still open, since closing it would empty the WAL.
            for ending in wal ? ["", "-wal"] : [""] {
                try FileManager.default.copyItem(atPath: store.path + ending, toPath: old + ending)
            }
        }
        for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.path + ending) }
        store.settings.randomBits = { 0x1111_1111_1111_1111 }
        return old
    }

    private func pages(_ path: String) throws -> [Page] {
        let connection = try DatabaseConnection(path: path)
        return try connection.table(
            "SELECT pageno, pagetype, ncell, path FROM dbstat WHERE name = 'blocks' ORDER BY path", columns: 4
        ).compactMap { row in
            guard let number = row[0].flatMap({ Int($0) }), let type = row[1],
                let cells = row[2].flatMap({ Int64($0) }), let path = row[3]
            else { return nil }
            return Page(number: number, type: type, cells: cells, path: path)
        }
    }

    /// Damages the first byte of the root page of `blocks`, which must be an interior page.
    private func damageRoot(_ path: String) throws {
        let root = try #require(try pages(path).first)
        #expect(root.type == "internal" && root.path == "/")
        try write([0], ofPage: root.number, path)
    }

    /// Overwrites four bytes of a page with a page number.
    private func write(_ number: Int, at offset: Int, ofPage page: Int, _ path: String) throws {
        try write([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }, at: offset, ofPage: page, path)
    }

    /// Overwrites bytes of a page.
    private func write(_ bytes: [UInt8], at offset: Int = 0, ofPage page: Int, _ path: String) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: UInt64((page - 1) * 8192 + offset))
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    @Test(
        "All records are recovered once and in their order although the root page of the blocks is damaged",
        arguments: [Shape.small, .overflowing], [false, true])
    func root(shape: Shape, wal: Bool) throws {
        try TemporaryStore.with { store in
            let old = try setAside(shape, store, wal: wal)
            let sent = try records(old)
            try damageRoot(old)
            #expect(throws: SQLiteError.self) {
                try DatabaseConnection(path: old, mode: .readOnly).number("SELECT count(*) FROM blocks")
            }
            let before = ["", "-wal"].map { FileManager.default.contents(atPath: old + $0) }
            #expect((before[1]?.count ?? 0 > 0) == wal)
            let count = shape.records + (wal ? 3 : 0)
            #expect(try store.importSalvaged(old, into: store.writer()) == SalvageResult(recovered: count))
            #expect(try store.importSalvaged(old, into: store.writer()) == SalvageResult())
            try expectSound(store)
            #expect(["", "-wal"].map { FileManager.default.contents(atPath: old + $0) } == before)
            #expect(try records(store.path) == sent)
        }
    }

    private func records(_ path: String) throws -> [IssueRecord] {
        try StoreReader(path: path).allRecords().map(\.record)
    }

    @Test("All records are recovered although reading the table is given up because too many rows are missing")
    func manyMissingRows() throws {
        try TemporaryStore.with { store in
            let old = try setAside(.small, store) { shell in
                try shell.execute("UPDATE ranges SET last_id = 1000000 WHERE id = (SELECT max(id) FROM ranges)")
            }
            try damageRoot(old)
            let salvaged = try SetAsideStore(path: old, randomBits: 1)
            var (recovered, unreadable, wasGivenUp) = (0, Int64(0), false)
            while let portion = salvaged.step() {
                recovered += portion.submissions.reduce(0) { $0 + $1.batch.records.count }
                unreadable += portion.unreadable
                wasGivenUp = wasGivenUp || salvaged.hasGivenUp
            }
            #expect(wasGivenUp)
            #expect(recovered == Int(Shape.small.records))
            #expect(unreadable == 0)
            #expect(!salvaged.hasGivenUp)
        }
    }

    @Test("All records are recovered although none of the tables that state their number can be read")
    func allRoots() throws {
        try TemporaryStore.with { store in
            let old = try setAside(.small, store)
            let tables = "'blocks', 'ranges', 'groups', 'ledger', 'postings', 'totals', 'stores'"
            let roots = try DatabaseConnection(path: old).numbers(
                "SELECT rootpage FROM sqlite_schema WHERE name IN (\(tables))")
            #expect(roots.count == 7)
            for root in roots { try write([UInt8](repeating: 0, count: 8192), ofPage: Int(root), old) }
            let result = try store.importSalvaged(old, into: store.writer())
            #expect(result == SalvageResult(recovered: Shape.small.records))
            try expectSound(store)
        }
    }

    @Test("Records that retention removed do not count as unreadable if the tables of blocks and ranges are damaged")
    func removedWithoutRanges() throws {
        try TemporaryStore.with { store in
            let old = try setAside(.small, store) { shell in
                try shell.execute(
                    "DELETE FROM blocks WHERE first_id <= (SELECT last_id FROM ranges ORDER BY id LIMIT 1 OFFSET 2)")
            }
            let left = try DatabaseConnection(path: old).number("SELECT sum(records) FROM blocks")
            #expect(left < Shape.small.records)
            let leaves = try pages(old).filter { $0.type == "leaf" }
            let ranges = try DatabaseConnection(path: old).number(
                "SELECT rootpage FROM sqlite_schema WHERE name = 'ranges'")
            try write([UInt8](repeating: 0, count: 8192), ofPage: Int(ranges), old)
            try damageRoot(old)
            let lost = leaves[leaves.count / 2]
            try write([0], ofPage: lost.number, old)
            let unreadable = lost.cells * Int64(Shape.small.recordsPerBlock)
            let result = try store.importSalvaged(old, into: store.writer())
            #expect(result == SalvageResult(recovered: left - unreadable, unreadable: unreadable))
            try expectSound(store)
        }
    }

    @Test(
        "All records are recovered although an interior page of the blocks is damaged, with or without the store codes",
        arguments: [false, true])
    func interior(areCodesLost: Bool) throws {
        try TemporaryStore.with { store in
            let old = try setAside(.deep, store)
            let interior = try pages(old).filter { $0.type == "internal" && $0.path != "/" }
            #expect(interior.count > 1)
            try write([0], ofPage: interior[0].number, old)
            if areCodesLost {
                let codes = try DatabaseConnection(path: old).number(
                    "SELECT rootpage FROM sqlite_schema WHERE name = 'stores'")
                try write([UInt8](repeating: 0, count: 8192), ofPage: Int(codes), old)
            }
            #expect(try store.importSalvaged(old, into: store.writer()) == SalvageResult(recovered: Shape.deep.records))
            #expect(try store.importSalvaged(old, into: store.writer()) == SalvageResult())
            try expectSound(store)
        }
    }

    @Test("All records are recovered although an interior page refers to the same leaf page twice")
    func repeatedChild() throws {
        try TemporaryStore.with { store in
            let old = try setAside(.small, store)
            let all = try pages(old)
            #expect(all[0].path == "/" && all[1].type == "leaf")
            // The rightmost child.
            try write(all[1].number, at: 8, ofPage: all[0].number, old)
            #expect(try store.importSalvaged(old, into: store.writer()).recovered == Shape.small.records)
            try expectSound(store)
        }
    }

    @Test("Only the records on a damaged leaf page are lost", arguments: [false, true])
    func leaf(isRootDamaged: Bool) throws {
        try TemporaryStore.with { store in
            let old = try setAside(.small, store)
            let leaves = try pages(old).filter { $0.type == "leaf" }
            let leaf = leaves[leaves.count / 2]
            if isRootDamaged { try damageRoot(old) }
            try write([0], ofPage: leaf.number, old)
            let lost = leaf.cells * Int64(Shape.small.recordsPerBlock)
            #expect(lost > 0)
            let result = try store.importSalvaged(old, into: store.writer())
            #expect(result == SalvageResult(recovered: Shape.small.records - lost, unreadable: lost))
            try expectSound(store)
        }
    }

    @Test(
        "The records of overwritten blocks are counted although their row ids are lost, too",
        arguments: [Shape.small, .overflowing], [0, 1])
    func overwrittenRowIDs(shape: Shape, seed: UInt64) throws {
        try TemporaryStore.with { store in
            let old = try setAside(shape, store)
            let leaves = try pages(old).filter { $0.type == "leaf" }
            var random = SampleRecords(seed: seed)
            for leaf in leaves.filter({ $0.number % 3 == 0 }) + leaves.suffix(1) {
                let noise = (0..<5000).map { _ in UInt8(random.below(256)) }
                try write(noise, at: 100, ofPage: leaf.number, old)
            }
            let result = try store.importSalvaged(old, into: store.writer())
            #expect(result.recovered < shape.records)
            #expect(result.recovered + result.unreadable == shape.records)
            try expectSound(store)
        }
    }

    @Test(
        "Removed records on free pages are neither recovered nor counted, even if the pointer map is damaged",
        arguments: [Shape.small, .overflowing], [false, true])
    func removed(shape: Shape, isMapDamaged: Bool) throws {
        try TemporaryStore.with { store in
            let old = try setAside(shape, store) { shell in
                try shell.execute(
                    """
                    PRAGMA secure_delete = 0;
                    DELETE FROM blocks WHERE first_id <= (SELECT last_id FROM ranges ORDER BY id LIMIT 1 OFFSET 2);
                    UPDATE ranges SET records = 0 WHERE id <= (SELECT id FROM ranges ORDER BY id LIMIT 1 OFFSET 2);
                    """)
            }
            let left = try DatabaseConnection(path: old).number("SELECT sum(records) FROM blocks")
            #expect(left < shape.records)
            let free = try DatabaseConnection(path: old).number("PRAGMA freelist_count")
            #expect(free > 5)
            try damageRoot(old)
            if isMapDamaged { try write([UInt8](repeating: 0xEE, count: 8192), ofPage: 2, old) }
            #expect(try store.importSalvaged(old, into: store.writer()) == SalvageResult(recovered: left))
            try expectSound(store)
        }
    }

    @Test("All records are recovered although the root page of the blocks and the pointer map are damaged")
    func pointerMap() throws {
        try TemporaryStore.with { store in
            let old = try setAside(.overflowing, store)
            try damageRoot(old)
            try write([UInt8](repeating: 0xEE, count: 8192), ofPage: 2, old)
            #expect(
                try store.importSalvaged(old, into: store.writer())
                    == SalvageResult(recovered: Shape.overflowing.records))
            try expectSound(store)
        }
    }

    @Test("Overflow pages that form a cycle cost only the records of their blocks")
    func cycle() throws {
        try TemporaryStore.with { store in
            let old = try setAside(.overflowing, store)
            let all = try pages(old)
            try damageRoot(old)
            let overflow = all.filter { $0.type == "overflow" }
            #expect(overflow.count > 20)
            for page in overflow.prefix(10) {
                try write(page.number, at: 0, ofPage: page.number, old)
            }
            let result = try store.importSalvaged(old, into: store.writer())
            // The path of an overflow page is that of its block, a plus sign, and the page's place in the chain.
            let blocks = Set(overflow.prefix(10).map { $0.path.prefix { $0 != "+" } })
            #expect(blocks.count < 20)
            let lost = Int64(blocks.count * Shape.overflowing.recordsPerBlock)
            #expect(result == SalvageResult(recovered: Shape.overflowing.records - lost, unreadable: lost))
            try expectSound(store)
        }
    }

    @Test("Damage to the WAL costs only the records in it")
    func wal() throws {
        try TemporaryStore.with { store in
            let old = try setAside(.small, store, wal: true)
            try damageRoot(old)
            let file = try FileHandle(forUpdating: URL(filePath: old + "-wal"))
            try file.seek(toOffset: 32)
            try file.write(contentsOf: Data(repeating: 0xFF, count: 8))
            try file.close()
            #expect(try store.importSalvaged(old, into: store.writer()).recovered == Shape.small.records)
            try expectSound(store)
        }
    }

    @Test(
        "A file with many random changes is read to its end, and each record is recovered or counted", arguments: 0..<4)
    func noise(seed: UInt64) throws {
        try TemporaryStore.with { store in
            let shape = seed % 2 == 0 ? Shape.small : .overflowing
            let wal = seed > 1
            let old = try setAside(shape, store, wal: wal)
            let all = try pages(old)
            try damageRoot(old)
            var random = SampleRecords(seed: seed)
            for _ in 0..<(wal ? 200 : 20) {
                // Half of the damage is in the headers and first cell pointers of pages.
                let page = try #require(all.randomElement(using: &random)).number
                let offset = random.below(2) == 0 ? random.below(64) : random.below(8190)
                try write([UInt8(random.below(256)), UInt8(random.below(256))], at: Int(offset), ofPage: page, old)
            }
            let result = try store.importSalvaged(old, into: store.writer())
            #expect(result.recovered > 0)
            #expect(result.recovered + result.unreadable == shape.records + (wal ? 3 : 0))
            try expectSound(store)
        }
    }
}
