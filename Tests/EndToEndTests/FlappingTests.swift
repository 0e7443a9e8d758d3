import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("A listener that comes and goes", .daemonLog)
struct FlappingTests {
    private func forwards(_ settings: String, under steps: FaultStep..., records: Int) async throws -> FakeLogzStats {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try listener.plan(steps)
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let client = try RawClient(path: daemon.socket)
            let ids = try client.report(
                (0..<records).map { IssueRecord(message: "Broken \($0)", app: Application(name: "shop")) }
            ).map { try $0.storedID }
            // Only then what it waits for itself is not waited for here.
            try await eventually("the listener was met at its worst") {
                let destination = try client.destination()
                return destination.state != .idle && destination.ledger.pending > 0
            }
            try await eventually("all is delivered", within: .seconds(120)) {
                // Who asks need not wait for the next probe.
                _ = try client.call(.flush, FlushParameters(timeout: .milliseconds(10)), returning: FlushReply.self)
                return try client.destination().ledger.delivered == Int64(records)
            }
            let comparison = listener.compare(with: ids)
            #expect(comparison.isMet, "\(comparison)")
            for id in comparison.duplicated.keys {
                #expect(try client.show(id).fates.allSatisfy { $0.maybeDuplicate })
            }
            #expect(try client.destination().ledger.balances)
            #expect(try daemon.file.ledgerFaults == [])
        }
        return listener.stats
    }

    @Test("One whose port opens and closes gets everything, and twice only what is marked")
    func flap() async throws {
        let stats = try await forwards(
            "BatchRecords=10", under: FaultStep(.flap(up: .milliseconds(60), down: .milliseconds(40))), records: 400)
        #expect(stats.connections > 1)
    }

    @Test("One that takes a token, refuses it, and takes it again pauses the destination, and nothing is lost")
    func authFlip() async throws {
        let stats = try await forwards(
            "BatchRecords=10", under: FaultStep(.authFlip(after: 3), times: .count(1)), records: 60)
        #expect(stats.duplicates == 0)
    }
}
