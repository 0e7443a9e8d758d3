import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Many receipts", .daemonLog)
struct ReceiptTests {
    /// Returns the number of threads of a program that query the daemon.
    private static func queryThreads(of program: ChildProcess) throws -> Int {
        let tasks = "/proc/\(program.pid)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).count { task in
            (try? String(contentsOfFile: "\(tasks)/\(task)/comm", encoding: .utf8)) == "issues-query\n"
        }
    }

    @Test("10,000 receipts are awaited at once with one connection and one thread, across restarts of the daemon")
    func many() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            try listener.down()
            let program = try ChildProcess(
                TestBinaries.path(of: "client-under-test"), ["await", "10000", "No."], in: daemon.folder, name: "await",
                environment: ["ISSUED_SOCKET": daemon.socket])
            var client = try RawClient(path: daemon.socket)
            try await eventually("all reports are stored") {
                try client.status().received == 10_000
            }
            for _ in 1...2 {
                try await eventually("the receipts are awaited") { try Self.queryThreads(of: program) == 1 }
                // Connections of the reporter, if still open, of the thread for fates, and of the raw client.
                try await eventually("there is a connection for fates") {
                    (2...3).contains(try client.status().connections ?? 0)
                }
                try daemon.restart()
                client = try RawClient(path: daemon.socket)
            }
            #expect(try Self.queryThreads(of: program) == 1)
            #expect(program.isRunning)
            try listener.up()
            try await eventually("all receipts are complete") { !program.isRunning }
            #expect(try program.end() == .exit(0), "\(program.errors)")
            #expect(listener.compare(with: try RawClient(path: daemon.socket).allRecords().map(\.id)).isMet)
        }
    }
}
