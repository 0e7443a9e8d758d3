import IssueProtocol
import IssueTestSupport
import Testing

@Suite(
    "Reports of a hostile user", .daemonLog, .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
struct HostileReportsTests {
    private static let attacker: UInt32 = 1301
    private static let quiet: UInt32 = 1302

    /// The beginnings of values that redaction looks for, none of which is complete.
    private static let beginnings = [
        "!@", "glpat-", "xoxb-", "password=$", "-----BEGIN PRIVATE KEY-----\n[@pemkey]\n", "tokens='", "[@email",
        "//a:b@", "eyJ", "mysql -p", "1.1.", "GB00-",
    ]

    @Test("Records that repeat the beginnings of secrets do not delay another user's report")
    func beginningsOfSecrets() async throws {
        try await DaemonFixture.with { daemon in
            let attacker = try OtherUser.client(Self.attacker, of: daemon)
            let quiet = try OtherUser.client(Self.quiet, of: daemon)
            _ = try quiet.report("Before it")
            var slowest = Duration.zero
            for beginning in Self.beginnings {
                let text = String(repeating: beginning, count: 60_000 / beginning.utf8.count)
                let record = IssueRecord(message: text, metadata: ["text": .string(text)])
                try attacker.begin(.report, ReportParameters(records: [record, record, record]))
                // The attacker's call is being read, or waits for its turn.
                slowest = max(slowest, try ContinuousClock().measure { _ = try quiet.report("Meanwhile") })
                #expect(try attacker.reply().error == nil)
            }
            // If the work grew with the square of the length, each call would take much longer than this limit.
            #expect(slowest < .seconds(5))
            #expect(try quiet.allRecords().count == Self.beginnings.count + 1)
            try await eventually("the status has the records") {
                try quiet.status().received == Int64(Self.beginnings.count + 1)
            }
        }
    }
}
