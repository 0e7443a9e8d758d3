import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@Suite("A full store", .daemonLog)
struct RetentionTests {
    @Test("After a reload with a smaller limit, the oldest records are removed and all counts are kept")
    func size() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let client = try RawClient(path: daemon.socket)
            let first = try client.report(records(1000))[0].storedID
            for _ in 1..<70 { _ = try client.report(records(1000)) }
            let before = try client.status().store
            #expect(before.records == 70_000)
            #expect(try client.show(first).record?.id == first)

            try daemon.configure("[Store]\nMaxSize=1M")
            try daemon.reload()
            try await daemon.logs("Removed old records of frequent issues")
            let last = try client.report("The last")[0]
            try await eventually("the file has become smaller") {
                let store = try client.status().store
                return store.records < 10_000 && (store.bytes ?? .max) < (before.bytes ?? 0) / 2
            }
            #expect(throws: (any Error).self) { try client.show(first) }
            #expect(try client.show(last).record?.id == last)
            try await eventually("the status has the records") { try client.status().received == 70_001 }
            for destination in try client.status().destinations { #expect(destination.ledger.balances) }

            try daemon.restart()
            let again = try RawClient(path: daemon.socket)
            try await eventually("the status has the records") { try again.status().received == 70_001 }
            #expect(try again.show(last).record?.id == last)
        }
    }

    /// Returns records with text that hardly compresses, so that the file is large.
    private func records(_ count: Int) -> [IssueRecord] {
        (0..<count).map { _ in
            let text = (0..<4).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined()
            return IssueRecord(
                message: "Out of paper", app: Application(name: "shop"), metadata: ["text": .string(text)])
        }
    }
}
