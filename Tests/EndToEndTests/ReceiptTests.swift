import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import UnixIO

@Suite("Many receipts", .daemonLog)
struct ReceiptTests {
    /// The number of threads of this process that query daemons.
    private static func queryThreads() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { task in
            (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)) == "issues-query\n"
        }
    }

    @Test("10,000 receipts are awaited at once with one connection and one thread, across restarts of the daemon")
    func many() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            try listener.down()
            let delivery = Delivery(paths: [daemon.socket])
            defer { delivery.stop() }
            let reporter = DaemonReporter(delivery: delivery)
            var receipts: [Receipt] = []
            for hundred in 0..<100 {
                let batch = (1...100).map { reporter.submit(IssueReport("No. \(100 * hundred + $0)", level: .info)) }
                for receipt in batch { _ = try await receipt.stored() }
                receipts += batch
            }

            let begun = Monitor(0)
            let delivered = try await withThrowingTaskGroup { group in
                for receipt in receipts {
                    group.addTask {
                        begun.withLock { $0 += 1 }
                        return try await receipt.delivered(timeout: .seconds(600)).map(\.outcome)
                    }
                }
                try await eventually("all tasks run") { begun.withLock { $0 } == 10_000 }
                for _ in 1...2 {
                    let client = try RawClient(path: daemon.socket)
                    // The reporter's, the one for fates, and the client's own.
                    try await eventually("the connections are few") {
                        let connections = try client.status().connections ?? 0
                        let threads = try Self.queryThreads()
                        return (2...3).contains(connections) && threads == 1
                    }
                    try daemon.restart()
                }
                try listener.up()
                return try await group.reduce(0) { $0 + ($1 == [.delivered] ? 1 : 0) }
            }
            #expect(delivered == 10_000)
            let connections = try RawClient(path: daemon.socket).status().connections
            #expect(connections ?? 0 <= 3)
        }
    }
}
