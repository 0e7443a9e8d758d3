import IssueCore
import IssueProtocol
import IssueStore
import IssueTestSupport
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

    private func relief(_ gate: SnapshotGate, _ fixture: ScanFixture) -> WALRelief {
        WALRelief(
            gate, normal: WALLimits(pageBytes: fixture.writer.pageBytes, maxBytes: Self.maxBytes),
            duringBackup: WALLimits(pageBytes: fixture.writer.pageBytes, maxBytes: 2 * Self.maxBytes), log: .silent)
    }

    /// Commits as the writer does. Returns the number of refused commits and the maximum size of the WAL in bytes.
    private func commit(
        _ count: Int, _ relief: inout WALRelief, _ fixture: ScanFixture
    ) throws -> (refused: Int, walBytes: Int64) {
        var (refused, longest) = (0, Int64(0))
        for _ in 0..<count {
            let mayCommit = relief.relieve(fixture.writer, wantsCommit: true) {
                _ = try? fixture.writer.checkpoint(restarts: true)
            }
            if mayCommit {
                try fixture.commit(Self.records)
            } else {
                refused += 1
            }
            longest = max(longest, fixture.writer.walBytes)
        }
        return (refused, longest)
    }

    @Test("A long query is interrupted, so that the WAL stays below its limit and no commit is refused")
    func queryIsInterrupted() throws {
        try ScanFixture.with(LimitSettings(), seed: 1) { fixture in
            let gate = SnapshotGate()
            var relief = relief(gate, fixture)
            let failure = Mutex<StoreFailure?>(nil)
            let hasBegun = Monitor(false)
            let path = fixture.path
            let asking = try JoinableThread(name: "query") {
                do {
                    let reader = try StoreReader(path: path, control: gate.control(.query))
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
            let outcome = try commit(100, &relief, fixture)
            asking.join()
            #expect(failure.withLock { $0 } == .walTooLarge)
            #expect(outcome.refused == 0)
            #expect(outcome.walBytes < Self.maxBytes)
            // Later queries are answered.
            let reader = try StoreReader(path: path, control: gate.control(.query))
            #expect(try reader.newest() == 2000)
        }
    }

    @Test("While another program reads, the WAL stays below its limit because commits are refused")
    func otherProgram() throws {
        try ScanFixture.with(LimitSettings(), seed: 1) { fixture in
            let gate = SnapshotGate()
            var relief = relief(gate, fixture)
            let outcome = try fixture.reader.snapshot {
                _ = try fixture.reader.newest()
                return try commit(100, &relief, fixture)
            }
            #expect(outcome.refused > 0)
            #expect(outcome.walBytes < Self.maxBytes)
            // Queries are not the cause.
            #expect(!gate.isClosed)
            try waitUntil("a commit is accepted") { try commit(1, &relief, fixture).refused == 0 }
            #expect(try commit(50, &relief, fixture).refused == 0)
        }
    }

    @Test("During a backup, the WAL has a higher limit; at that limit, the backup is ended")
    func backup() throws {
        try ScanFixture.with(LimitSettings(), seed: 1) { fixture in
            let gate = SnapshotGate()
            var relief = relief(gate, fixture)
            try fixture.commit(Self.records)
            let copy = try StoreCopy(of: fixture.path, to: fixture.path + ".copy", control: gate.control(.backup))
            #expect(gate.isBackingUp)
            var longest: Int64 = 0
            for _ in 0..<200 {
                let outcome = try commit(1, &relief, fixture)
                longest = max(longest, outcome.walBytes)
                if outcome.refused > 0 { break }
            }
            #expect(throws: StoreFailure.walTooLarge) { try copy.step() }
            #expect(try commit(5, &relief, fixture).refused == 0)
            #expect(longest > Self.maxBytes)
            #expect(longest < 2 * Self.maxBytes)
            #expect(!gate.isBackingUp)
        }
    }

    @Test("Neither a commit nor maintenance writes to a WAL that is at its limit")
    func frameLimit() throws {
        try ScanFixture.with(LimitSettings(), seed: 1) { fixture in
            try fixture.commit(Self.records)
            fixture.writer.walFrameLimit = fixture.writer.walPages
            #expect(throws: StoreFailure.walTooLarge) { try fixture.commit(Self.records) }
            #expect(throws: StoreFailure.walTooLarge) { try fixture.writer.closeOpenRange() }
            try fixture.writer.checkpoint(restarts: true)
            try fixture.commit(Self.records)
            #expect(try fixture.reader.newest() == 40)
        }
    }
}
