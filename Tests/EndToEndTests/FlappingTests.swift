import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("An intermittent listener", .daemonLog)
struct FlappingTests {
    /// Reports to a listener with a fault until `isMet` returns `true`, then ends the fault, and expects that all
    /// records arrive.
    ///
    /// No step depends on the speed of the machine. While the port opens and closes, a busy machine may never complete
    /// a request.
    private func forwards(
        under step: FaultStep, until isMet: (FakeLogz, RawClient) throws -> Bool
    ) async throws -> FakeLogzStats {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try listener.plan(step)
        try await DaemonFixture.with(.forwarding(to: listener, "BatchRecords=10")) { daemon in
            let client = try RawClient(path: daemon.socket)
            func flush() throws {
                // A flush makes the next attempt at once, without the usual pause.
                _ = try client.call(.flush, FlushParameters(timeout: .milliseconds(10)), returning: FlushReply.self)
            }
            var ids: [String] = []
            try await eventually("the listener has failed often enough", within: .seconds(900)) {
                ids += try client.report(
                    (0..<20).map { IssueRecord(message: "Broken \($0)", app: Application(name: "shop")) }
                ).map { try $0.storedID }
                try flush()
                return try isMet(listener, client)
            }
            try listener.plan()
            try await eventually("all records are delivered", within: .seconds(900)) {
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

    @Test("A listener whose port opens and closes gets all records, and duplicates are marked")
    func flap() async throws {
        let stats = try await forwards(
            under: FaultStep(.flap(up: .milliseconds(60), down: .milliseconds(40)))
        ) { listener, _ in listener.stats.connections >= 5 }
        #expect(stats.connections >= 5)
        #expect(stats.requests > 0)
    }

    @Test("A listener that rejects the token for a while gets all records, and each only once")
    func authFlip() async throws {
        let stats = try await forwards(under: FaultStep(.authFlip(after: 3), times: 2)) { listener, _ in
            listener.requests.contains { $0.status == 401 }
        }
        #expect(stats.duplicates == 0)
    }
}
