import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

/// Corrections, deployments, silences and forecasts of a user who wants to harm another one.
@Suite(
    "Changes of a hostile user", .daemonLog, .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
struct HostileChangesTests {
    private static let attacker: UInt32 = 1401
    private static let victim: UInt32 = 1402

    private func report(_ client: RawClient, _ messages: [String], version: String) throws {
        let app = Application(name: "shop", version: version)
        _ = try client.report(messages.map { IssueRecord(message: $0, app: app) })
    }

    /// Returns the groups without their times.
    private func summary(_ client: RawClient) throws -> [String] {
        try client.groups().map { "\($0.id) \($0.title) \($0.state) \($0.hasRegressed) \($0.records)" }.sorted()
    }

    @Test("A user can neither see nor change the issues, corrections, deployments and silences of another one")
    func othersIssues() async throws {
        try await DaemonFixture.with { daemon in
            let attacker = try OtherUser.client(Self.attacker, of: daemon)
            let victim = try OtherUser.client(Self.victim, of: daemon)
            let root = try RawClient(path: daemon.socket)
            let titles = ["Payment failed", "Card failed", "Order lost"]
            try report(victim, titles, version: "1.0")
            try report(attacker, ["Payment failed", "Card failed"], version: "999.9.9")
            let groups = try victim.groups()
            let theirs = titles.compactMap { title in groups.first { $0.title == title }?.id }
            try #require(theirs.count == 3)
            let own = try attacker.groups().map(\.id)
            _ = try victim.change("MergeGroups", #"{"into":"\#(theirs[0])","groups":["\#(theirs[1])"]}"#)
            _ = try victim.change("Deploy", #"{"app":"shop","version":"1.0"}"#)
            let until = Date(timeIntervalSinceNow: 3600).ISO8601Format()
            let silence = #"{"silence":{"apps":["shop"],"until":"\#(until)","reason":"night"}}"#
            #expect(try root.change("AddSilence", silence).error == nil)
            let before = try summary(victim)
            let calls = [
                ("MergeGroups", #"{"into":"\#(theirs[0])","groups":["\#(own[0])"]}"#, "NotFound"),
                ("MergeGroups", #"{"into":"\#(own[0])","groups":["\#(theirs[2])"]}"#, "NotFound"),
                ("SplitGroup", #"{"group":"\#(theirs[0])","template":"Pay*"}"#, "NotFound"),
                ("SplitByField", #"{"group":"\#(theirs[0])","field":"title","dry_run":true}"#, "NotFound"),
                ("AddGroupRule", #"{"group":"\#(theirs[0])","template":"Pay*"}"#, "NotFound"),
                ("UndoCorrection", #"{"id":1}"#, "NotFound"),
                ("Explain", #"{"id":"\#(theirs[0])"}"#, "NotFound"),
                ("SetState", #"{"group":"\#(theirs[0])","state":"muted"}"#, "NotFound"),
                ("Deploy", #"{"app":"shop","version":"9","user":\#(Self.victim)}"#, "Denied"),
                ("ExplainRecord", #"{"record":{"message":"Payment failed"},"user":\#(Self.victim)}"#, "Denied"),
                ("AddSilence", silence, "Denied"), ("ListSilences", "{}", "Denied"),
                ("EndSilence", #"{"id":"s1"}"#, "Denied"), ("TestNotifier", #"{"name":"x"}"#, "Denied"),
                ("Retention", "{}", "Denied"),
            ]
            for (method, parameters, error) in calls {
                #expect(try attacker.change(method, parameters).error == "org.issued.Collector.\(error)", "\(method)")
            }
            // The attacker's changes to an application of the same name affect only the attacker's own records.
            #expect(try attacker.change("AddGroupRule", #"{"group":"\#(own[0])","template":"Order *"}"#).error == nil)
            #expect(try attacker.change("Deploy", #"{"app":"shop","version":"0.1"}"#).error == nil)
            #expect(try summary(victim) == before)
            for method in ["Corrections", "Deployments", "Limits", "SuggestMerges"] {
                let reply = try attacker.change(method)
                #expect(reply.error == nil)
                let text = String(decoding: reply.parameters, as: UTF8.self)
                #expect(!text.contains(theirs[0]) && !text.contains("\(Self.victim)"), "\(method): \(text)")
            }
            // The victim's rules and versions are in effect as before.
            let resolve = #"{"group":"\#(theirs[2])","state":"resolved","resolved_in_next":true}"#
            #expect(try victim.change("SetState", resolve).error == nil)
            try report(victim, ["Order lost"], version: "1.0")
            try report(attacker, ["Order lost"], version: "1000.0.0")
            #expect(try victim.groups().first { $0.id == theirs[2] }?.state == .resolved)
            _ = try victim.change("Deploy", #"{"app":"shop","version":"1.1"}"#)
            try report(victim, ["Order lost"], version: "1.1")
            #expect(try victim.groups().first { $0.id == theirs[2] }?.hasRegressed == true)
            let deployed = try victim.change("Deployments", #"{"app":"shop"}"#).parameters
            #expect(!String(decoding: deployed, as: UTF8.self).contains("999.9.9"))
        }
    }

    @Test("Corrections and forecasts in a loop are refused above a limit, and do not delay other users' records")
    func loops() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener, "CriticalDelay=100ms")) { daemon in
            let first = try OtherUser.client(Self.attacker, of: daemon)
            try report(first, ["Payment failed", "Card failed", "Order lost"], version: "1.0")
            let own = try first.groups().map(\.id)
            let (socket, folder) = (daemon.socket, daemon.folder)
            let forecast = #"{"record":{"message":"\#(String(repeating: "Token ", count: 2000))"}}"#
            let attackers = try Senders(count: 3) { number in
                let client = try OtherUser.client(Self.attacker, socket: socket, in: folder)
                var refused = 0
                for round in 0..<(number == 0 ? 50 : 150) {
                    let reply =
                        switch (number, round % 2) {
                        case (0, _): try client.change("ExplainRecord", forecast)
                        case (_, 0):
                            try client.change(
                                "MergeGroups", #"{"into":"\#(own[0])","groups":["\#(own[1])","\#(own[2])"]}"#)
                        default: try client.change("UndoCorrection", #"{"id":\#(round)}"#)
                        }
                    if reply.error == "org.issued.Collector.Busy" { refused += 1 }
                }
                return refused
            }
            let victim = try OtherUser.client(Self.victim, of: daemon)
            let root = try RawClient(path: daemon.socket)
            let clock = ContinuousClock()
            var (slowestReport, slowestStatus) = (Duration.zero, Duration.zero)
            for _ in 0..<50 {
                slowestReport = max(slowestReport, try clock.measure { _ = try victim.report("Quiet") })
                slowestStatus = max(slowestStatus, try clock.measure { _ = try root.status() })
            }
            let alarm = try victim.report([
                IssueRecord(message: "INTRUSION DETECTED", severity: .critical, app: Application(name: "shop"))
            ])
            let id = try #require(alarm.first).storedID
            try await eventually("the critical record has arrived") {
                listener.accepted.contains { $0.eventID == id }
            }
            let refused = try attackers.results(within: .seconds(120))
            #expect(refused.reduce(0, +) > 0)
            #expect(slowestReport < .seconds(5))
            #expect(slowestStatus < .seconds(5))
            // The victim's own changes are not limited by those of others.
            let groups = try victim.groups().map(\.id)
            let merge = #"{"into":"\#(groups[0])","groups":["\#(groups[1])"]}"#
            #expect(try victim.change("MergeGroups", merge).error == nil)
            #expect(try victim.allRecords().count == 51)
            #expect(try root.destination().ledger.balances)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }
}

extension RawClient {
    /// Calls a method of the collector with the given parameters, and waits for its reply.
    fileprivate func change(_ method: String, _ parameters: String = "{}") throws -> VarlinkReply {
        try call("org.issued.Collector.\(method)", parameters)
    }
}
