import Foundation
import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The writer")
struct WriterServiceTests {
    private static let damage = StoreFailure.damaged(SQLiteError(code: .corrupt, message: ""))

    /// Calls `body` with the running writer of a new store.
    private func withWriter(_ body: (WriterService, _ refused: Monitor<Int>, _ damaged: Monitor<Bool>) throws -> Void)
        throws
    {
        let (refused, damaged) = (Monitor(0), Monitor(false))
        try ScanFixture.withPath { path in
            try WriterService.with(
                path,
                refused: { count in
                    refused.withLock { $0 += count }
                    refused.broadcast()
                },
                mustReopen: {
                    damaged.withLock { $0 = true }
                    damaged.broadcast()
                }
            ) { try body($0, refused, damaged) }
        }
    }

    private func isTrue(_ isSo: Monitor<Bool>) -> Bool {
        isSo.wait(deadline: MonotonicClock.now.advanced(by: .seconds(30))) { $0 ? true : nil } ?? false
    }

    @Test("If the store is reported as damaged, the writer refuses each later report")
    func refuses() throws {
        try withWriter { writer, refused, damaged in
            writer.reportCorruption(Self.damage)
            #expect(isTrue(damaged))
            let process = ReportingProcess(connection: 1, sender: Sender(uid: 1, gid: 1, pid: 1), startTime: 0)
            for number in 1...20 {
                let call = ReportCall(token: UInt64(number), records: 0..<0, rejected: [], numbering: nil)
                _ = writer.submit(Submission(process: process, batch: RecordBatch(), calls: [call]))
                let isAnswered = refused.wait(deadline: MonotonicClock.now.advanced(by: .seconds(30))) {
                    $0 == number ? true : nil
                }
                #expect(isAnswered == true)
                guard isAnswered == true else { return }
            }
        }
    }

    @Test("If the store is reported as damaged, the writer performs no further tasks")
    func noErrands() throws {
        try withWriter { writer, _, damaged in
            writer.reportCorruption(Self.damage)
            #expect(isTrue(damaged))
            #expect(throws: WriterClosed.self) { try writer.perform { $0.closedRanges } }
        }
    }

    @Test("If the database is removed, a task fails, and the writer asks for the file to be opened again")
    func removedDatabase() throws {
        try withWriter { writer, _, damaged in
            #expect(try writer.perform { $0.closedRanges } == 0)
            for ending in ["", "-wal", "-shm"] {
                try FileManager.default.removeItem(atPath: writer.opening.path + ending)
            }
            #expect(throws: WriterClosed.self) { try writer.perform { try $0.closeOpenRange() } }
            #expect(isTrue(damaged))
        }
    }

    @Test("The reader gate, closed because of a long WAL, is open again once a task has reset the WAL")
    func gate() throws {
        try withWriter { writer, _, _ in
            // The writer has created its tables once it performs a task.
            #expect(try writer.perform { $0.closedRanges } == 0)
            writer.gate.enter()
            let path = writer.opening.path
            // As long as this snapshot is held, SQLite can't reset the WAL.
            let snapshot = try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(5))
            try snapshot.execute("BEGIN")
            _ = try Statement("SELECT count(*) FROM ranges", on: snapshot).all { $0.int64(0) }
            let text = JSONValue.string(ScanFixture.noise(200_000, seed: 1))
            var isLong = false
            for _ in 0..<1000 where !isLong {
                isLong = try writer.perform { store in
                    let record = IssueRecord(message: "large", metadata: ["text": text])
                    _ = try store.commit([Submission([record])], wall: Clock.wall, monotonic: Clock.monotonic)
                    // At this length, a checkpoint that resets the WAL is due, whatever was copied before.
                    let pages = Int(store.retention.disk.checkpointBytes / store.pageBytes)
                    return store.walPages >= 2 * pages + pages / 8
                }
            }
            try #require(isLong)
            // A task runs after the maintenance of the pass before.
            try writer.perform { _ in }
            #expect(writer.gate.isClosed)
            try snapshot.execute("ROLLBACK")
            #expect(try writer.perform { try $0.checkpoint(restarts: true) })
            try writer.perform { _ in }
            #expect(!writer.gate.isClosed)
            #expect(!writer.gate.leave())
        }
    }
}
