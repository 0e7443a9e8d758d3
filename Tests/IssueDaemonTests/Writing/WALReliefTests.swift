import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("A WAL that readers keep from being reset")
struct WALReliefTests {
    private static let maxBytes: Int64 = 1 << 20
    private static let records = (0..<20).map {
        IssueRecord(message: "Number \($0)", metadata: ["text": .string(String(repeating: "x", count: 2000))])
    }

    private func relief(_ gate: SnapshotGate, _ scene: ScanScene) -> WALRelief {
        WALRelief(
            gate, usual: WALLimits(pageBytes: scene.writer.pageBytes, maxBytes: Self.maxBytes),
            duringBackup: WALLimits(pageBytes: scene.writer.pageBytes, maxBytes: 2 * Self.maxBytes), log: .silent)
    }

    /// Commits as the writer does. Returns the number of refused commits and
    /// the maximum size of the WAL in bytes.
    private func commit(
        _ count: Int, _ relief: inout WALRelief, _ scene: ScanScene
    ) throws -> (refused: Int, walBytes: Int64) {
        var (refused, longest) = (0, Int64(0))
        for _ in 0..<count {
            if relief.relieve(scene.writer, wantsCommit: true, { try? scene.writer.checkpoint(restarts: true) }) {
                try scene.commit(Self.records)
            } else {
                refused += 1
            }
            longest = max(longest, scene.writer.walBytes)
        }
        return (refused, longest)
    }

    @Test("A query is interrupted, the WAL stays below its limit, and no commit is refused")
    func question() throws {
        try ScanScene.with(LimitSettings(), seed: 1) { scene in
            let gate = SnapshotGate()
            var relief = relief(gate, scene)
            let failure = Mutex<StoreFailure?>(nil)
            let hasBegun = Monitor(false)
            let path = scene.path
            let asking = try JoinableThread(name: "question") {
                do {
                    let reader = try StoreReader(path: path, control: gate.control(.question))
                    try reader.snapshot(within: .seconds(600)) {
                        while true {
                            _ = try reader.newest()
                            hasBegun.withLock { $0 = true }
                            hasBegun.broadcast()
                        }
                    }
                } catch {
                    failure.withLock { $0 = error as? StoreFailure }
                }
            }
            _ = hasBegun.wait { $0 ? true : nil }
            let outcome = try commit(100, &relief, scene)
            asking.join()
            #expect(failure.withLock { $0 } == .walTooLarge)
            #expect(outcome.refused == 0)
            #expect(outcome.walBytes < Self.maxBytes)
            // Later queries are answered.
            let reader = try StoreReader(path: path, control: gate.control(.question))
            #expect(try reader.newest() == 2000)
        }
    }

    @Test("While another program reads, the WAL stays below its limit because commits are refused")
    func otherProgram() throws {
        try ScanScene.with(LimitSettings(), seed: 1) { scene in
            let gate = SnapshotGate()
            var relief = relief(gate, scene)
            let outcome = try scene.reader.snapshot {
                _ = try scene.reader.newest()
                return try commit(100, &relief, scene)
            }
            #expect(outcome.refused > 0)
            #expect(outcome.walBytes < Self.maxBytes)
            // Queries are not the cause.
            #expect(!gate.isClosed)
            let deadline = MonotonicClock.now.advanced(by: .seconds(30))
            while try commit(1, &relief, scene).refused > 0, MonotonicClock.now < deadline { CorruptionCheck.rest() }
            #expect(try commit(50, &relief, scene).refused == 0)
        }
    }

    @Test("The WAL has a higher limit during a backup, after which the backup is ended")
    func backup() throws {
        try ScanScene.with(LimitSettings(), seed: 1) { scene in
            let gate = SnapshotGate()
            var relief = relief(gate, scene)
            try scene.commit(Self.records)
            let copy = try StoreCopy(of: scene.path, to: scene.path + ".copy", control: gate.control(.backup))
            #expect(gate.isBackingUp)
            var longest: Int64 = 0
            for _ in 0..<200 {
                let outcome = try commit(1, &relief, scene)
                longest = max(longest, outcome.walBytes)
                if outcome.refused > 0 { break }
            }
            #expect(throws: StoreFailure.walTooLarge) { try copy.step() }
            #expect(try commit(5, &relief, scene).refused == 0)
            #expect(longest > Self.maxBytes)
            #expect(longest < 2 * Self.maxBytes)
            #expect(!gate.isBackingUp)
        }
    }

    @Test("Maintenance does not write to a WAL that is at its limit, either")
    func frameLimit() throws {
        try ScanScene.with(LimitSettings(), seed: 1) { scene in
            try scene.commit(Self.records)
            scene.writer.walFrameLimit = scene.writer.walPages
            #expect(throws: StoreFailure.walTooLarge) { try scene.commit(Self.records) }
            #expect(throws: StoreFailure.walTooLarge) { try scene.writer.closeOpenRange() }
            try scene.writer.checkpoint(restarts: true)
            try scene.commit(Self.records)
            #expect(try scene.reader.newest() == 40)
        }
    }
}
