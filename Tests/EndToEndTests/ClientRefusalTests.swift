import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import Torture
import UnixIO

/// The reports of a test, sent through a `Delivery` that only this test uses.
struct LibraryReports: ~Copyable {
    let delivery: Delivery
    private let reporter: DaemonReporter
    private(set) var count = 0

    init(_ daemon: DaemonFixture) {
        delivery = Delivery(paths: [daemon.socket])
        reporter = DaemonReporter(delivery: delivery)
    }

    mutating func report(_ more: Int) {
        for _ in 0..<more {
            count += 1
            reporter.receive(IssueReport("Report \(count)", level: .warning))
        }
    }

    /// Reports until a condition is true. The total is about 5,000 reports at most. Throws `ConditionTimeout` if the
    /// condition is not true after a minute.
    mutating func report(until what: String, _ holds: () throws -> Bool) throws {
        let deadline = MonotonicClock.now.advanced(by: .seconds(60))
        while try !holds() {
            guard MonotonicClock.now < deadline else { throw ConditionTimeout(description: what) }
            if count < 5000 { report(20) }
            _ = delivery.flush(timeout: .milliseconds(10))
        }
    }

    /// Expects that all reports were answered, and that each is stored once.
    func checkAllStored(by daemon: DaemonFixture) throws {
        #expect(delivery.flush(timeout: .seconds(90)))
        let messages = try RawClient(path: daemon.socket).allRecords().map(\.record.message)
        #expect(messages.count == count)
        #expect(Set((1...count).map { "Report \($0)" }).subtracting(messages).isEmpty)
        #expect(try daemon.file.ledgerFaults == [])
    }

    deinit { delivery.stop() }
}

/// The client library keeps reports that the daemon refuses, and delivers them later.
@Suite("The client library and a daemon that refuses reports", .daemonLog)
struct ClientRefusalTests {
    @Test(
        "Reports that are refused because of a full or failing disk are resent, and stored once",
        arguments: [
            (Errno.deviceFull, ["No space left; refusing reports"]),
            (.inputOutput, ["Could not store reports", "Could not read the database; reopening it"]),
        ])
    func failingDisk(error: Errno, refusals: [String]) async throws {
        let tools = try ScratchFolder(named: "client-refusal")
        let library = try FaultLibrary.build(in: tools)
        let control = try FaultControl(path: tools["faults"])
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(TortureRun.configuration(listener, control: control, library: library)) { daemon in
            func refused() -> Int {
                daemon.log.split(separator: "\n").count { line in refusals.contains { line.contains($0) } }
            }
            var reports = LibraryReports(daemon)
            reports.report(200)
            #expect(reports.delivery.flush(timeout: .seconds(60)))
            for _ in 1...3 {
                let before = refused()
                try control.failCalls(from: 1, count: 1_000_000, with: error)
                try reports.report(until: "the daemon refuses reports") { refused() > before }
                #expect(!reports.delivery.flush(timeout: .milliseconds(50)))
                try control.failNoCalls()
                reports.report(100)
                #expect(reports.delivery.flush(timeout: .seconds(90)))
            }
            try reports.checkAllStored(by: daemon)
        }
    }

    @Test(
        "Reports that do not fit on a small disk are stored once when there is space, even if their program has exited",
        .enabled(if: DaemonFixture.smallDiskObstacle == nil, "\(DaemonFixture.smallDiskObstacle ?? "")"))
    func fullDisk() async throws {
        let tools = try ScratchFolder(named: "client-refusal")
        let library = try FaultLibrary.build(in: tools)
        let control = try FaultControl(path: tools["faults"])
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let table = try await DiskFullRun.run(
            listener, control: control, library: library, seed: 1, times: 3, styles: ReporterStyle.programs)
        #expect(table.unreached == [])
    }

    @Test("Reports wait while there are too many connections, and are then stored once")
    func tooManyConnections() async throws {
        try await DaemonFixture.with("[Socket]\nMaxConnections=4\nMaxConnectionsPerUser=4\n") { daemon in
            var others: [RawClient] = []
            for _ in 1...4 {
                let client = try RawClient(path: daemon.socket)
                _ = try client.status()
                others.append(client)
            }
            var reports = LibraryReports(daemon)
            try reports.report(until: "a connection is refused") {
                daemon.log.contains("Too many connections; refusing new ones")
            }
            #expect(reports.delivery.waitForFailure(timeout: .seconds(60)))
            others = []
            reports.report(100)
            try reports.checkAllStored(by: daemon)
        }
    }

    @Test("Reports made while the database can't be opened are stored once each when it can be opened")
    func unopenable() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let folder = FileSystem.parentFolder(of: daemon.database)
            try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: "/proc/self")
            try daemon.start()
            var reports = LibraryReports(daemon)
            reports.report(700)
            #expect(!reports.delivery.flush(timeout: .milliseconds(200)))
            try FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            reports.report(100)
            try reports.checkAllStored(by: daemon)
        }
    }
}
