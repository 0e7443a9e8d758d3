import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Suppression of frequent issues", .daemonLog)
struct SuppressionTests {
    @Test("Of 1,000 records of one issue, only the burst is sent, and summaries count all others")
    func burst() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = "GroupBurst=5\nGroupRefill=1/5min\nSummaryInterval=1s"
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let client = try RawClient(path: daemon.socket)
            for call in 0..<10 {
                _ = try client.report(
                    (0..<100).map {
                        IssueRecord(message: "Timed out after \(call * 100 + $0) ms", app: Application(name: "shop"))
                    })
            }
            func lines(_ kind: String) -> [AcceptedLine] {
                listener.accepted.filter { $0["event_kind"]?.asString == kind }
            }
            try await eventually("all records are sent or summarised") {
                let suppressed = lines("suppression_summary").compactMap { $0["suppressed_count"]?.asInteger }.reduce(
                    0, +)
                return suppressed + Int64(lines("issue").count) >= 1000
            }
            let whole = lines("issue")
            #expect((1...6).contains(whole.count))
            let suppressed = lines("suppression_summary").compactMap { $0["suppressed_count"]?.asInteger }.reduce(0, +)
            #expect(suppressed + Int64(whole.count) == 1000)
            #expect(lines("suppression_summary").allSatisfy { $0["suppression_reason"] == "group_rate" })

            try await eventually("nothing is pending") { try client.destination().ledger.pending == 0 }
            let ledger = try client.destination().ledger
            #expect(ledger.balances)
            #expect(ledger.delivered == Int64(whole.count))
            #expect(ledger.summarised == 1000 - Int64(whole.count))
            #expect(try client.groups().map(\.records) == [1000])
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("Records suppressed before a kill or stop are summarised after the next start")
    func acrossTheEnd() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = "GroupBurst=5\nGroupRefill=1/5min\nSummaryInterval=15min"
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            func reportAndFlush() throws {
                let client = try RawClient(path: daemon.socket)
                _ = try client.report((0..<100).map { IssueRecord(message: "Timed out after \($0) ms") })
                _ = try client.call(.flush, FlushParameters(timeout: .seconds(20)), returning: FlushReply.self)
            }
            try reportAndFlush()
            try daemon.kill()
            try daemon.start()
            try reportAndFlush()
            try daemon.terminate()
            try daemon.start()
            try await eventually("all records are sent or summarised") {
                let summaries = listener.accepted.filter { $0["event_kind"] == "suppression_summary" }
                let sum = Dictionary(grouping: summaries) { $0.eventID }.values
                    .compactMap { $0.first?["suppressed_count"]?.asInteger }.reduce(0, +)
                let whole = Set(listener.accepted.filter { $0["event_kind"] == "issue" }.map(\.eventID)).count
                return sum + Int64(whole) == 200
            }
            #expect(try RawClient(path: daemon.socket).destination().ledger.balances)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }
}
