import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("A flush of a destination")
struct FlushTests {
    /// Requests a flush from a service that is not running yet, calls `prepare`, and runs a loop of the service until
    /// it ends. Returns how often the flush was completed.
    private func completions(_ prepare: (ForwardingService) throws -> Void) throws -> Int {
        let completed = Monitor(0)
        try ScanFixture.withPath { path in
            let destination = try ScanFixture(path, .withoutLimits, seed: 1).destination
            try ScanFixture.withWriter(path) { writer in
                let service = ForwardingService(
                    destination: destination,
                    settings: ForwardingService.Settings(forward: .withoutLimits, limits: .withoutLimits, host: "h"),
                    path: path, writer: writer, statusRegistry: StatusRegistry(path: path), log: .silent)
                let loop = try ForwardingLoop(service, SilentShipper(), fatesChanged: {})
                service.flush { completed.withLock { $0 += 1 } }
                try prepare(service)
                try loop.run()
            }
        }
        return completed.withLock { $0 }
    }

    @Test("A flush is completed if the service stops before it has handled the request")
    func stopping() throws {
        #expect(try completions { $0.stop() } == 1)
    }

    @Test(
        "Records in damaged blocks expire if no others are pending, and a flush of them is completed",
        arguments: [false, true])
    func damaged(isFlushed: Bool) throws {
        try ScanFixture.withPath { path in
            let destination = try ScanFixture(path, .withoutLimits, seed: 1).destination
            try ScanFixture.withWriter(path) { writer in
                let records = (0..<20).map { IssueRecord(message: "line \($0 % 4)") }
                try writer.perform {
                    _ = try $0.commit([Submission(records)], wall: Clock.wall, monotonic: Clock.monotonic)
                }
                let shell = try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(5))
                try shell.execute("UPDATE blocks SET checksum = checksum + 1")
                let service = ForwardingService(
                    destination: destination,
                    settings: ForwardingService.Settings(forward: .withoutLimits, limits: .withoutLimits, host: "h"),
                    path: path, writer: writer, statusRegistry: StatusRegistry(path: path), log: .silent)
                let completed = Monitor(false)
                @Sendable func complete() {
                    completed.withLock { $0 = true }
                    completed.broadcast()
                }
                if isFlushed { service.flush { complete() } }
                let forwarding = try JoinableThread(name: "forward") {
                    service.run({ SilentShipper() }) { if !isFlushed { complete() } }
                }
                let isCompleted = completed.wait(deadline: MonotonicClock.now.advanced(by: .seconds(30))) {
                    $0 ? true : nil
                }
                #expect(isCompleted == true)
                service.stop()
                forwarding.join()
                let ledger = try StoreReader(path: path).figures(viewer: .everything).ledgers[0].ledger
                #expect(ledger.expired == 20)
                #expect(ledger.pending == 0)
                #expect(ledger.balances)
            }
        }
    }
}
