import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Announcements in the log", .daemonLog)
struct AnnouncementTests {
    @Test("A new issue and a critical record are announced once each; of a flood of new issues, most are only counted")
    func announcements() async throws {
        try await DaemonFixture.with("[Limits]\nNewGroupsPerApplication=0") { daemon in
            let client = try RawClient(path: daemon.socket)
            func lines(_ text: String) -> Int { daemon.log.ranges(of: text).count }
            _ = try client.report((0..<5).map { _ in IssueRecord(message: "Broken", app: Application(name: "shop")) })
            try await eventually("the new issue is announced") { lines("New issue reported") == 1 }
            _ = try client.report([IssueRecord(message: "Broken", severity: .critical, app: Application(name: "shop"))])
            try await eventually("the critical record is announced") { lines("Critical issue reported") == 1 }
            try await daemon.logs("app=shop")
            try await daemon.logs("issue=Broken")
            for word in 0..<200 as Range<Int64> { _ = try client.report([IssueRecord(message: "x", code: word)]) }
            try await eventually("the status has the records") { try client.status().store.groups == 201 }
            // The limit allows a user ten announcements at once. The issue above was one of them.
            try await eventually("some are announced") { lines("New issue reported") >= 10 }
            _ = try daemon.terminate()
            #expect(lines("New issue reported") < 30)
            #expect(lines("Too many issues to announce individually") > 0)
        }
    }

    @Test("A user who exceeds the limit on new issues is logged once")
    func crowding() async throws {
        try await DaemonFixture.with("[Limits]\nNewGroupsPerApplication=5/15min") { daemon in
            let client = try RawClient(path: daemon.socket)
            for word in 0..<20 as Range<Int64> { _ = try client.report([IssueRecord(message: "x", code: word)]) }
            try await eventually("the status has the records") { try client.status().store.groups == 6 }
            let message = "User reports too many different names; combining the rest"
            try await daemon.logs(message)
            _ = try daemon.terminate()
            let lines = daemon.log.split(separator: "\n").filter { $0.contains(message) }
            #expect(lines.count == 1)
            #expect(lines.first?.contains("names=issues") == true)
        }
    }

    @Test(
        "A flood of new issues suppresses no announcement of the same user's critical records or other users' issues",
        .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
    func noise() async throws {
        try await DaemonFixture.with("[Limits]\nNewGroupsPerApplication=0") { daemon in
            let noisy = try OtherUser.client(12_345, of: daemon)
            for word in 0..<100 as Range<Int64> { _ = try noisy.report([IssueRecord(message: "x", code: word)]) }
            _ = try noisy.report([IssueRecord(message: "Mine", severity: .critical)])
            let root = try RawClient(path: daemon.socket)
            _ = try root.report([IssueRecord(message: "RAID has failed", severity: .critical)])
            _ = try root.report([IssueRecord(message: "Not seen before")])
            for title in ["Mine", "RAID has failed", "Not seen before"] {
                try await daemon.logs(title)
            }
        }
    }
}
