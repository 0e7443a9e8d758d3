import Foundation
import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

/// Whatever a file contains, the store either uses it or reports it as corrupt. It never traps or loops.
@Suite("A corrupt file", .serialized)
struct DamagedFileTests {
    private static let rounds = PowerCutTests.isLong ? 40 * PowerCutTests.seeds.count : 12
    /// One byte of every `headerStride` bytes of the header is changed. The offset depends on the seed.
    private static let headerStride = 8

    /// Opens a file and uses it as a daemon does.
    ///
    /// Opening may fail only with an error that a new file fixes. After that, only corruption may be reported, and the
    /// records stored here must be found.
    private func use(_ store: TemporaryStore, _ context: String) {
        do throws(StoreFailure) {
            let writer: StoreWriter
            do throws(StoreFailure) {
                writer = try StoreWriter(store.settings)
            } catch  where error.isFixedByNewFile {
                return
            }
            try use(writer, of: store, context)
        } catch .damaged, .foreign {
            // The daemon would move it aside.
        } catch {
            Issue.record("\(context): \(error)")
        }
    }

    private func use(_ writer: StoreWriter, of store: TemporaryStore, _ context: String) throws(StoreFailure) {
        do {
            _ = try writer.configure(StoreFixture.destinations, at: store.wall)
            let known = try store.store([IssueRecord(message: "Issue a took 1 ms")], to: writer)
            var critical = IssueRecord(message: "never seen before", severity: .critical)
            critical.app = Application(name: "new")
            let new = try store.store([critical], from: .of(uid: 4000), to: writer)
            let reader = try store.reader()
            for id in known + new {
                #expect(try reader.record(row: id.row)?.stored.id == id.text, "\(context)")
            }
            try ask(reader)
            let snapshot = try writer.retentionSnapshot(
                freeBytes: 1 << 40, wall: store.wall, monotonic: store.monotonic)
            if let range = snapshot.oldest {
                while try !writer.forget(range).isDone {}
            }
            _ = try writer.shrink(pages: 8)
            try writer.closeOpenRange()
            _ = try writer.checkpoint()
        } catch let failure as StoreFailure {
            throw failure
        } catch is QueryFailure {
            // The requested record or group no longer exists.
        } catch {
            Issue.record("\(context): \(error)")
        }
    }

    /// Runs queries of all kinds.
    private func ask(_ reader: StoreReader) throws {
        let groups = try reader.groups(.of(IssueFilter(), sparkline: 10), viewer: .everything).groups
        for group in groups.prefix(5) { _ = try? reader.show(group.id, viewer: .everything) }
        for isAscending in [true, false] {
            let all = StoreReader.RecordQuery(filter: .init(), isAscending: isAscending, limit: 500, after: nil)
            let page = try reader.records(all, viewer: .everything)
            for record in page.records.prefix(3) { _ = try? reader.fates(of: record.id, viewer: .everything) }
        }
        _ = try reader.figures(viewer: .everything)
        _ = try reader.backlog(of: 1, after: 0)
        for cursor in [0, 20, 50] as [RowID] { _ = try reader.walk(after: cursor, limit: 100) }
        _ = try reader.unansweredBatch(of: 1)
        _ = try reader.admissionState(of: 1)
        _ = try reader.unsentSummaries(of: 1, limit: 10)
    }

    @Test(
        "A corrupt file is used or reported as corrupt, whichever byte of its header is changed",
        arguments: [true, false])
    func header(isClosed: Bool) throws {
        let files = try StoreFiles.made(seed: 3, isClosed: isClosed)
        let starts = Set(PowerCutTests.seeds.map { Int($0) % Self.headerStride })
        for offset in 0..<100 where starts.contains(offset % Self.headerStride) {
            for value in [0xFF, files.database[offset] ^ 1] {
                var damaged = files
                damaged.database[offset] = value
                try damaged.with { use($0, "byte \(offset) is \(value)") }
            }
        }
    }

    @Test(
        "A corrupt file is used or reported as corrupt if it contains impossible numbers",
        arguments: [
            "UPDATE clock SET first_id = 1 << 60", "UPDATE clock SET offset = 9223372036854775807",
            "UPDATE ranges SET last_id = 9223372036854775807", "UPDATE ranges SET last_id = -5",
            "UPDATE stores SET first_id = 9223372036854775807",
            "UPDATE ranges SET id = 9223372036854775807 WHERE id = (SELECT max(id) FROM ranges)",
            "UPDATE destinations SET cursor = 9223372036854775807, given_id = 9223372036854775807",
            "UPDATE destinations SET cursor = -9223372036854775807 - 1, first_id = -9223372036854775807 - 1",
            "UPDATE blocks SET last_id = 1 << 61 WHERE first_id = (SELECT max(first_id) FROM blocks)",
            "UPDATE blocks SET last_id = 1 << 61 WHERE first_id = (SELECT min(first_id) FROM blocks)",
            "UPDATE blocks SET last_id = -1",
            "UPDATE blocks SET records = 1 << 61", "UPDATE blocks SET first_id = -first_id",
            "UPDATE blocks SET checksum = checksum + 1", "UPDATE blocks SET body = x''",
        ])
    func numbers(sql: String) throws {
        try StoreFiles.made(seed: 12, isClosed: true).with { store in
            try store.shell().execute(composedSQL: sql)
            use(store, sql)
        }
    }

    @Test("A corrupt file is used or reported as corrupt, whatever its pages contain", arguments: [true, false])
    func pages(isClosed: Bool) throws {
        let files = try StoreFiles.made(seed: 4, isClosed: isClosed)
        var chance = SampleRecords(seed: 5)
        for round in 0..<Self.rounds {
            var damaged = files
            for _ in 0...chance.below(3) { damage(&damaged.database, &chance) }
            try damaged.with { use($0, "round \(round)") }
        }
    }

    /// Overwrites a part of a file with zeros, random bytes or another part, or flips a bit.
    private func damage(_ file: inout Data, _ chance: inout SampleRecords) {
        let length = 1 << chance.below(14)
        let start = Int(chance.below(Int64(file.count - Int(length))))
        let part = start..<(start + Int(length))
        switch chance.below(5) {
        case 0: file.resetBytes(in: part)
        case 1: file.replaceSubrange(part, with: part.map { _ in UInt8(truncatingIfNeeded: chance.next()) })
        case 2:
            let other = Int(chance.below(Int64(file.count - Int(length))))
            file.replaceSubrange(part, with: Data(file[other..<(other + Int(length))]))
        default: file[start] ^= 1 << UInt8(chance.below(8))
        }
    }

    @Test("A corrupt file is used or reported as corrupt, wherever it is truncated", arguments: [true, false])
    func truncated(isClosed: Bool) throws {
        let files = try StoreFiles.made(seed: 6, isClosed: isClosed)
        var chance = SampleRecords(seed: 7)
        for round in 0..<Self.rounds {
            var damaged = files
            // Every second time at the end of a page.
            let length = Int(chance.below(Int64(files.database.count)))
            damaged.database = files.database.prefix(round % 2 == 0 ? length : length / 8192 * 8192)
            try damaged.with { use($0, "round \(round), \(damaged.database.count) bytes") }
        }
    }

    @Test("A store with a corrupt WAL has the state after one of its commits, and continues from there")
    func log() throws {
        let files = try StoreFiles.made(seed: 8, isClosed: false)
        var chance = SampleRecords(seed: 9)
        for round in 0..<Self.rounds {
            var damaged = files
            let offset = Int(chance.below(Int64(files.log.count)))
            switch round % 4 {
            case 0: damaged.log = files.log.prefix(offset)
            case 1: damaged.log[offset] ^= 1 << UInt8(chance.below(8))
            case 2: damaged.log[Int(chance.below(32))] ^= 1 << UInt8(chance.below(8))
            default: damaged.log += Data((0..<9000).map { _ in UInt8(truncatingIfNeeded: chance.next()) })
            }
            try damaged.with { store in
                let fixture = StoreFixture(store, seed: 1)
                try fixture.open()
                let empty = fixture.model
                let history = [empty] + files.history
                guard let found = try history.last(where: { try StoreOracle.obviousFaults(store, $0) == [] }) else {
                    Issue.record("round \(round): the store is in a state that never existed")
                    return
                }
                if round % 4 == 3 { #expect(found.lastRow == files.history.last?.lastRow) }
                let recovered = StoreFixture(store, seed: 2, model: found)
                try recovered.open()
                let faults = try recovered.faults() + recovered.faultsAfterContinuing()
                #expect(faults == [], "round \(round)")
            }
        }
    }
}
