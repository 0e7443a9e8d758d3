import Foundation
import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit
import Synchronization
import Testing

@Suite("On an almost full disk")
struct GrowthTests {
    private func fileBytes(_ store: TemporaryStore) throws -> Int {
        let size = try FileManager.default.attributesOfItem(atPath: store.path)[.size] as? Int
        return try #require(size)
    }

    private func pagesBytes(_ store: TemporaryStore) throws -> Int {
        Int(try store.shell().pragma("page_count")) * 8192
    }

    private func stored(_ store: TemporaryStore) throws -> Int64 {
        try store.shell().integer("SELECT count(*) FROM records")
    }

    private let records = {
        var samples = SampleRecords(seed: 7)
        return (0..<500).map {
            IssueRecord(message: "Number \($0)", metadata: ["text": .string(samples.noise(500))])
        }
    }()

    @Test(
        "On an almost full disk, the file is extended before a commit to hold all pages, so that a checkpoint has space"
    )
    func extended() throws {
        try TemporaryStore.with { store in
            store.settings.freeBytes = { 64 << 20 }
            let writer = try store.writer()
            try store.store(records, to: writer)
            #expect(try fileBytes(store) == pagesBytes(store))
            #expect(try fileBytes(store) > 300_000)
            let before = try fileBytes(store)
            try writer.checkpoint()
            #expect(try fileBytes(store) == before)
        }
    }

    @Test("WAL growth caused by a reader counts as free space and is released")
    func excessWAL() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            var samples = SampleRecords(seed: 6)
            let large = (0..<500).map {
                IssueRecord(message: "\($0)", metadata: ["text": .string(samples.noise(8000))])
            }
            func excess() throws -> Int64 {
                try writer.retentionSnapshot(freeBytes: 0, wall: store.wall, monotonic: store.monotonic).excessWALBytes
            }
            let reader = try store.reader()
            try store.store(large, to: writer)
            #expect(try excess() == 0)
            try reader.snapshot {
                _ = try reader.newest()
                for _ in 0..<9 { try store.store(large, to: writer) }
            }
            #expect(writer.walBytes > WALLimits.typicalBytes)
            #expect(try excess() == writer.walBytes - WALLimits.typicalBytes)
            try writer.checkpoint(restarts: true)
            #expect(try excess() == 0)
            #expect(writer.walBytes <= WALLimits.typicalBytes)
            #expect(writer.walPages == 0)
        }
    }

    @Test("With plenty of free space, the file grows only during checkpoints")
    func plenty() throws {
        try TemporaryStore.with { store in
            store.settings.freeBytes = { 1 << 40 }
            let writer = try store.writer()
            try store.store(records, to: writer)
            #expect(try fileBytes(store) < pagesBytes(store))
            try writer.checkpoint()
            #expect(try fileBytes(store) == pagesBytes(store))
        }
    }

    @Test("On an almost full disk, reports are refused, and accepted with more space")
    func refused() throws {
        try TemporaryStore.with { store in
            let free = Mutex(Int64(1 << 20))
            store.settings.freeBytes = { free.withLock { $0 } }
            let writer = try store.writer()
            #expect(throws: StoreFailure.noSpace) { try store.store(records, to: writer) }
            #expect(try stored(store) == 0)
            free.withLock { $0 = 64 << 20 }
            let ids = try store.store(records, to: writer)
            #expect(ids.count == 500)
            #expect(try stored(store) == 500)
        }
    }

    @Test("On an almost full disk, retention may use the reserved space that reports may not use")
    func retention() throws {
        try TemporaryStore.with { store in
            let free = Mutex(Int64(1 << 40))
            store.settings.freeBytes = { free.withLock { $0 } }
            let writer = try store.writer()
            try store.store(records, to: writer)
            free.withLock { $0 = 8 << 20 }
            try writer.closeOpenRange()
            #expect(throws: StoreFailure.noSpace) { try store.store(records, to: writer) }
        }
    }
}
