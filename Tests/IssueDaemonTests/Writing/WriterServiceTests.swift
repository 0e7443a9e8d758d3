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

    @Test("If storing fails on a read-only file system, the failure says so, and later reports are answered at once")
    func readOnlyFileSystem() throws {
        let (isReadOnly, failures) = (Monitor(false), Monitor<[StoreFailure?]>([]))
        let answers = Monitor<[CollectorError?]>([])
        try ScanFixture.withPath { path in
            var opening = StoreOpening(path: path, limits: LimitSettings(), retention: RetentionSettings())
            opening.isReadOnly = { _ in isReadOnly.withLock { $0 } }
            let writer = WriterService(opening: opening, log: .silent)
            let thread = try JoinableThread(name: "writer") {
                writer.run(
                    WriterService.Callbacks(
                        stored: { _ in }, refused: { refusals in answers.append(refusals.map(\.error)) },
                        changed: { failures.append([$0]) }, mustReopen: {}, removed: {})
                ) { _ in }
            }
            defer {
                writer.stop()
                thread.join()
            }
            try writer.perform { _ in }
            let shell = try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(5))
            try shell.execute(
                "CREATE TRIGGER fault BEFORE INSERT ON blocks BEGIN SELECT RAISE(ABORT, 'fault'); END")
            isReadOnly.withLock { $0 = true }
            for count in 1...2 {
                _ = writer.submit(try Submission([IssueRecord(message: "m")]))
                #expect(answers.wait(deadline: Self.deadline) { $0.count == count ? true : nil } == true)
            }
            #expect(answers.withLock { $0 } == [.busy(retryAfter: .seconds(1)), .busy(retryAfter: .seconds(1))])
            #expect(failures.withLock { $0 } == [.readOnly(FileSystem.parentFolder(of: path))])
            try shell.execute("DROP TRIGGER fault")
            isReadOnly.withLock { $0 = false }
            #expect(failures.wait(deadline: Self.deadline) { $0.last == .some(nil) ? true : nil } == true)
        }
    }

    private static var deadline: KernelInstant { MonotonicClock.now.advanced(by: .seconds(30)) }

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

extension Monitor {
    /// Appends elements, and wakes all waiting threads.
    fileprivate func append<Element: Sendable>(_ elements: [Element]) where State == [Element] {
        withLock { $0 += elements }
        broadcast()
    }
}
