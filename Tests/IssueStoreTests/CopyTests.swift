import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("A copy of the store")
struct CopyTests {
    @Test("A copy is made while records arrive, and contains what was stored when the copy began")
    func online() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try SentLog.filled(store, writer, calls: 400)
            let count = writer.nextID - 1
            let path = store.path + ".copy"
            do {
                let copy = try StoreCopy(of: store.path, to: path)
                var steps = 0
                var isDone = false
                while !isDone {
                    // Each of these would restart a copy that does not hold a snapshot.
                    try store.store([IssueRecord(message: "meanwhile \(steps)")], to: writer)
                    _ = try writer.checkpoint()
                    isDone = try copy.step()
                    steps += 1
                    try #require(steps < 1000)
                }
                #expect(copy.done == copy.total)
            }
            try StoreCopy.mark(path)
            let found = try DatabaseConnection(path: path, mode: .readOnly)
            _ = try BlockReader(on: found)
            #expect(try found.number("SELECT count(*) FROM records") == count.rawValue)
            #expect(try found.first("PRAGMA integrity_check") { $0.text(0) } == "ok")
            #expect(try found.number("SELECT count(*) FROM copies") == 1)
            #expect(try RangeAudit.faults(found) == [])
            #expect(try LedgerAudit.faults(found) == [])
            #expect(try store.shell().number("SELECT count(*) FROM copies") == 0)
        }
    }

    @Test("A copy that is put into service assigns ids with another store code, and old records keep their ids")
    func ids() throws {
        try TemporaryStore.with { store in
            var writer: StoreWriter? = try store.writer()
            let old = try store.store([IssueRecord(message: "before")], to: try #require(writer))[0]
            let path = store.path + ".copy"
            do {
                let copy = try StoreCopy(of: store.path, to: path)
                while try !copy.step() {}
            }
            try StoreCopy.mark(path)
            let lost = try store.store([IssueRecord(message: "after")], to: try #require(writer))[0]
            writer = nil

            store.settings.path = path
            store.settings.randomBits = { 0x7777_7777_7777_7777 }
            var ids: Set<RecordID> = [old, lost]
            for _ in 0..<2 {
                // Opening the copy again does not count as another copy.
                let restored = try store.writer()
                let new = try store.store([IssueRecord(message: "anew")], to: restored)[0]
                #expect(new.store != old.store)
                #expect(ids.insert(new).inserted)
                #expect(restored.memory.values.recordID(row: old.row) == old)
                #expect(try StoreReader(path: path).show(old.text, viewer: .everything).record?.id == old.text)
                #expect(try StoreReader(path: path).show(new.text, viewer: .everything).record?.id == new.text)
                #expect(throws: QueryFailure.self) { try StoreReader(path: path).show(lost.text, viewer: .everything) }
            }
            #expect(try DatabaseConnection(path: path, mode: .readOnly).number("SELECT count(*) FROM stores") == 2)
        }
    }
}
