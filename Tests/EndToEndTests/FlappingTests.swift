import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("A listener that comes and goes", .daemonLog)
struct FlappingTests {
    /// Reports until the listener was met often enough, and looks that all of it arrives.
    private func forwards(
        under step: FaultStep, until isMet: (FakeLogz, RawClient) throws -> Bool
    ) async throws -> FakeLogzStats {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try listener.plan(step)
        try await DaemonFixture.with(.forwarding(to: listener, "BatchRecords=10")) { daemon in
            let client = try RawClient(path: daemon.socket)
            func flush() throws {
                // Who asks need not wait for the next try.
                _ = try client.call(.flush, FlushParameters(timeout: .milliseconds(10)), returning: FlushReply.self)
            }
            var ids: [String] = []
            try await eventually("the listener was met at its worst", within: .seconds(60)) {
                ids += try client.report(
                    (0..<20).map { IssueRecord(message: "Broken \($0)", app: Application(name: "shop")) }
                ).map { try $0.storedID }
                try flush()
                return try isMet(listener, client)
            }
            try await eventually("all is delivered", within: .seconds(120)) {
                try flush()
                return try client.destination().ledger.delivered == Int64(ids.count)
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
            under: FaultStep(.flap(up: .milliseconds(60), down: .milliseconds(40)))
        ) { listener, _ in listener.stats.connections >= 5 }
        #expect(stats.requests >= 5)
    }

    @Test("One that takes a token, refuses it, and takes it again pauses the destination, and nothing is lost")
    func authFlip() async throws {
        let stats = try await forwards(under: FaultStep(.authFlip(after: 3), times: 2)) { listener, _ in
            listener.requests.contains { $0.status == 401 }
        }
        #expect(stats.duplicates == 0)
    }
}
