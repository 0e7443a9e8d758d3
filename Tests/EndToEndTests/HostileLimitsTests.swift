import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite(
    "Limits under hostile users", .daemonLog, .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
struct HostileLimitsTests {
    private static let victim: UInt32 = 1202

    private func records(_ count: Int, of app: String, _ severity: IssueLevel, text: String = "") -> [IssueRecord] {
        (0..<count).map {
            IssueRecord(message: "Noise \(text)", severity: severity, code: Int64($0), app: Application(name: app))
        }
    }

    @Test("The critical records of ten users do not suppress the announcement of another user's critical record")
    func announcement() async throws {
        try await DaemonFixture.with { daemon in
            for uid in 1101...1110 as ClosedRange<UInt32> {
                _ = try OtherUser.client(uid, of: daemon).report(records(15, of: "noise", .critical))
            }
            let victim = try OtherUser.client(Self.victim, of: daemon)
            _ = try victim.report([IssueRecord(message: "INTRUSION DETECTED", severity: .critical)])
            try await daemon.logs("INTRUSION DETECTED")
            _ = try daemon.terminate()
            let summary = daemon.log.split(separator: "\n").filter {
                $0.contains("Too many issues to announce individually")
            }
            #expect(summary.contains { $0.contains("users=\"11") || $0.contains("users=11") })
        }
    }

    @Test("The user ids of a container share the announcement limit of one user")
    func containerUsers() async throws {
        try await DaemonFixture.with { daemon in
            let container: UInt32 = 1_000_013_824
            for uid in container..<container + 10 {
                _ = try OtherUser.client(uid, of: daemon).report(records(15, of: "noise", .critical))
            }
            let victim = try OtherUser.client(Self.victim, of: daemon)
            _ = try victim.report([IssueRecord(message: "INTRUSION DETECTED", severity: .critical)])
            try await daemon.logs("INTRUSION DETECTED")
            _ = try daemon.terminate()
            let alerts = daemon.log.split(separator: "\n").filter { $0.contains("Critical issue reported") }
            #expect(alerts.count < 20)
        }
    }

    @Test("Other users' critical records overtake at least half of a flood of critical new issues from four users")
    func forwarding() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let configuration = """
            [Limits]
            GroupBurst=1000000
            NewGroupsPerApplication=0
            ApplicationBurst=0
            [Forward]
            BatchDelay=100ms
            CriticalDelay=100ms
            [LogzIO]
            URL=http://127.0.0.1:\(listener.port)
            Credential=TOKENFILE
            """
        try await DaemonFixture.with(DaemonConfiguration(configuration)) { daemon in
            // The flood waits until the alarms are stored.
            try listener.down()
            for uid in 1101...1104 as ClosedRange<UInt32> {
                let flood = try OtherUser.client(uid, of: daemon)
                for name in 0..<12 { _ = try flood.report(records(400, of: "noise-\(name)", .critical)) }
            }
            let root = try RawClient(path: daemon.socket)
            var ids: [String] = []
            for client in [try OtherUser.client(Self.victim, of: daemon), root] {
                let alarm = try client.report([IssueRecord(message: "INTRUSION DETECTED", severity: .critical)])
                ids.append(try #require(alarm.first).storedID)
            }
            try listener.up()
            for id in ids {
                try await eventually("the alarm has arrived") { listener.accepted.contains { $0.eventID == id } }
                let linesBefore = try #require(listener.accepted.firstIndex { $0.eventID == id })
                #expect(linesBefore < 48 * 400 / 2)
            }
            #expect(try root.destination().ledger.balances)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("A user's flood uses only that user's share of DailyBytes=, and is summarised")
    func dailyBytes() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = "DailyBytes=1M"
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let flood = try OtherUser.client(1101, of: daemon)
            let text = String(repeating: "x", count: 4000)
            for _ in 0..<20 { _ = try flood.report(records(50, of: "noise", .critical, text: text)) }
            let root = try RawClient(path: daemon.socket)
            try await eventually("the flood is suppressed") {
                let ledger = try root.destination().ledger
                return ledger.pending == 0 && ledger.summarised > 0
            }
            let before = try root.destination().bytesToday
            #expect(before < 1 << 20)
            let victim = try OtherUser.client(Self.victim, of: daemon)
            let ids = try victim.report("The usual", "Something else")
            try await eventually("the other user's records have arrived") {
                Set(listener.accepted.compactMap(\.eventID)).isSuperset(of: ids)
            }
            // The shares are kept after a restart.
            _ = try daemon.terminate()
            try daemon.start()
            let again = try OtherUser.client(1101, of: daemon).report(records(1, of: "noise", .error, text: text))
            let later = try OtherUser.client(Self.victim, of: daemon).report("Once more")
            try await eventually("the other user's record has arrived") {
                Set(listener.accepted.compactMap(\.eventID)).isSuperset(of: later)
            }
            let id = try #require(again.first).storedID
            #expect(!listener.accepted.contains { $0.eventID == id })
            #expect(try RawClient(path: daemon.socket).destination().ledger.balances)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }
}
