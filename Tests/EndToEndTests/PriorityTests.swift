import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Priority records", .daemonLog)
struct PriorityTests {
    @Test(
        "After an outage, a critical record and a new issue are sent before most other pending records, without duplicates"
    )
    func priority() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = "BatchRecords=50\nConnectTimeout=1s"
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let client = try RawClient(path: daemon.socket)
            let app = Application(name: "shop")
            func report(_ count: Int, _ message: String, _ severity: IssueLevel = .error) throws -> [String] {
                try client.report(
                    (0..<count).map { _ in IssueRecord(message: message, severity: severity, app: app) }
                ).map { try $0.storedID }
            }
            var ids = try report(1, "The usual")
            try await eventually("the issue is known") { try client.destination().ledger.delivered == 1 }
            try listener.down()
            ids += try report(1000, "The usual")
            try await eventually("the outage is detected") { try client.destination().state == .waiting }
            let urgent = try report(1, "The usual", .critical) + report(1, "Never seen before")
            ids += urgent
            try listener.up()
            try await eventually("all records have arrived") {
                try client.destination().ledger.pending == 0
            }
            // One batch was stored during the outage, and is sent first.
            let index = listener.accepted.compactMap(\.eventID).lastIndex { urgent.contains($0) }
            #expect(try #require(index) < 150)
            #expect(listener.compare(with: ids).isMet, "\(listener.compare(with: ids))")
            #expect(listener.stats.duplicates == 0)
            for id in urgent { #expect(try client.show(id).fates.map(\.outcome) == [.delivered]) }
            #expect(try client.destination().ledger.balances)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("An application's own limits apply, and a restart does not refill the burst")
    func ownLimits() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = """
            GroupBurst=3
            GroupRefill=1/1h
            SummaryInterval=15min
            [Limits loud]
            GroupBurst=20
            GroupRefill=1/1h
            """
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            func report(_ count: Int) throws {
                let client = try RawClient(path: daemon.socket)
                for app in ["loud", "shop"] {
                    _ = try client.report(
                        (0..<count).map {
                            IssueRecord(message: "Timed out after \($0) ms", app: Application(name: app))
                        })
                }
                _ = try client.call(.flush, FlushParameters(timeout: .seconds(20)), returning: FlushReply.self)
            }
            func whole(_ app: String) -> Int {
                Set(
                    listener.accepted.filter { $0["event_kind"] == "issue" && $0["app"]?.asString == app }
                        .map(\.eventID)
                ).count
            }
            try report(10)
            #expect(whole("shop") == 4)
            #expect(whole("loud") == 10)
            try daemon.kill()
            try daemon.start()
            try report(30)
            #expect(whole("shop") == 4)
            // The first record of a group does not use its group's burst.
            #expect(whole("loud") == 21)
        }
    }
}
