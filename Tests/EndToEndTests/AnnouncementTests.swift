import IssueProtocol
import IssueTestSupport
import Testing

@Suite("What operators hear of", .daemonLog)
struct AnnouncementTests {
    @Test("A new issue and a critical record are told once each, the usual is not, and a flood of them is counted")
    func told() async throws {
        try await DaemonFixture.with("[Limits]\nNewGroupsPerApplication=0") { daemon in
            let client = try RawClient(path: daemon.socket)
            func lines(_ words: String) -> Int {
                daemon.log.split(separator: words, omittingEmptySubsequences: false).count - 1
            }
            _ = try client.report((0..<5).map { _ in IssueRecord(message: "Broken", app: Application(name: "shop")) })
            try await eventually("it is told") { lines("A new issue has come up") == 1 }
            _ = try client.report([IssueRecord(message: "Broken", severity: .critical, app: Application(name: "shop"))])
            try await eventually("it is told") { lines("A critical issue was reported") == 1 }
            #expect(daemon.log.contains("app=shop"))
            #expect(daemon.log.contains("issue=Broken"))
            for word in 0..<200 as Range<Int64> { _ = try client.report([IssueRecord(message: "x", code: word)]) }
            try await eventually("there are more") { lines("A new issue has come up") >= 18 }
            #expect(try client.status().store.groups == 201)
            #expect(lines("A new issue has come up") <= 25)
        }
    }
}
