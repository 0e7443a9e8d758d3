import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Corrections at destinations", .daemonLog)
struct CorrectionExportTests {
    private func corrections(_ listener: FakeLogz) -> [AcceptedLine] {
        listener.accepted.filter { $0["event_kind"] == "correction" }
    }

    @Test("Corrections made while the destination is down arrive despite kills; a line that is sent again keeps its id")
    func outage() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            var client = try RawClient(path: daemon.socket)
            var records = ["Read of /a failed", "Write of /b failed"].map {
                IssueRecord(message: $0, app: Application(name: "shop"))
            }
            for index in records.indices { records[index].fingerprint = "io" }
            records += ["User ann is gone", "User bob is gone"].map {
                IssueRecord(message: $0, app: Application(name: "shop"))
            }
            _ = try client.report(records)
            try await eventually("the records are delivered") { try client.destination().ledger.delivered == 4 }
            let groups = Dictionary(
                uniqueKeysWithValues: try client.groups().map { ($0.title, (id: $0.id, fingerprint: $0.fingerprint)) })
            let io = try #require(groups["Read of <path> failed"])
            let (ann, bob) = (try #require(groups["User ann is gone"]), try #require(groups["User bob is gone"]))

            try listener.down()
            let merge = MergeGroupsParameters(into: ann.id, groups: [bob.id], reason: "same person")
            let reply = try client.call(.mergeGroups, merge, returning: MergeGroupsReply.self)
            #expect(reply.count == 1 && reply.corrections == [1])
            try await daemon.logs("corrections=1")
            let split = SplitGroupParameters(group: io.id, template: "Write *")
            let pieces = try client.call(.splitGroup, split, returning: SplitGroupReply.self)
            #expect(pieces.corrections == [2])
            let parts = pieces.groups
            let new = try #require(parts.first { $0.id != io.id }?.id)
            // The line of the merge may be in flight, the others are not.
            try daemon.kill()
            try daemon.start()
            client = try RawClient(path: daemon.socket)
            let undo = UndoCorrectionParameters(id: 1)
            #expect(try client.call(.undoCorrection, undo, returning: SplitGroupReply.self).groups.count == 2)
            try daemon.kill()
            try listener.up()
            try daemon.start()
            client = try RawClient(path: daemon.socket)
            try await eventually("all lines have arrived") {
                Set(corrections(listener).map(\.eventID)).count == 3
            }
            // A line that may have arrived is sent again, so the lines are compared by their ids.
            let lines = corrections(listener)
            let first = Dictionary(lines.map { ($0.eventID, $0) }) { first, _ in first }
            let actions = Dictionary(grouping: first.values) { $0["correction_action"]?.asString ?? "" }
            #expect(Set(actions.keys) == ["merge", "split", "undo"])
            let merged = try #require(actions["merge"]?.first)
            #expect(merged["group_id"]?.asString == ann.id && merged["other_group_id"]?.asString == bob.id)
            #expect(merged["fingerprint"]?.asString == ann.fingerprint)
            #expect(merged["other_fingerprint"]?.asString == bob.fingerprint)
            #expect(merged["correction"] == 1 && merged["correction_reason"] == "same person")
            #expect(merged["app"] == "shop")
            let divided = try #require(actions["split"]?.first)
            #expect(divided["group_id"]?.asString == new && divided["other_group_id"]?.asString == io.id)
            #expect(divided["correction"] == 2 && divided["correction_template"] == "Write *")
            let undone = try #require(actions["undo"]?.first)
            #expect(undone["correction"] == 1 && undone["correction_undone"] == "merge")

            // A line whose reply is stored is not sent again after the next start.
            _ = try client.call(.undoCorrection, UndoCorrectionParameters(id: 2), returning: SplitGroupReply.self)
            try await eventually("the last line has arrived") {
                corrections(listener).contains { $0["correction_action"] == "undo" && $0["correction"] == 2 }
            }
            try await eventually("the reply to the last line is stored") {
                try daemon.file.rows("SELECT count(*) FROM summaries WHERE state <> 1", columns: 1) == [["0"]]
            }
            let count = corrections(listener).count
            try daemon.kill()
            try daemon.start()
            client = try RawClient(path: daemon.socket)
            _ = try client.report("User carl is gone", app: "shop")
            try await eventually("a later record is delivered") {
                try client.destination().ledger.delivered == 5
            }
            #expect(corrections(listener).count == count)
            let ledger = try client.destination().ledger
            #expect(ledger.balances && ledger.received == 5 && ledger.delivered == 5)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("A rule is forwarded as one line of its own and one for each issue that it merges, with few requests")
    func rule() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = "[Limits]\nNewGroupsPerApplication=0\nNewSeriesPerApplication=0"
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let client = try RawClient(path: daemon.socket)
            let letters = Array("abcdefghijklmnopqrst")
            let words = letters.flatMap { first in letters.prefix(12).map { "\(first)\($0)" } }
            _ = try client.report("User boss left", app: "shop")
            let boss = try #require(try client.groups().first)
            _ = try client.report(
                words.map { IssueRecord(message: "User \($0) left", app: Application(name: "shop")) })
            try listener.plan(FaultStep(.status(503), times: .forever))
            let rule = AddGroupRuleParameters(group: boss.id, template: "User * left")
            #expect(
                try client.call(.addGroupRule, rule, returning: MergeGroupsReply.self).count == Int64(words.count))
            try listener.plan()
            try await eventually("all lines have arrived") {
                Set(corrections(listener).map(\.eventID)).count == words.count + 1
            }
            let accepted = listener.requests.count { $0.status == 200 }
            #expect(accepted <= 10)
            let lines = corrections(listener)
            #expect(lines.allSatisfy { $0["group_id"]?.asString == boss.id && $0["correction"] == 1 })
            #expect(Set(lines.compactMap { $0["other_group_id"]?.asString }).count == words.count)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }
}
