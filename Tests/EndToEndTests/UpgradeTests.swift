import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import SQLiteKit
import Testing

/// Gives files of earlier versions to the daemon. `Fixtures/make.py` has made them with the programs of those versions.
@Suite("Files and clients of earlier versions", .daemonLog)
struct UpgradeTests {
    private static let kept = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

    private static func forwarding(to listener: FakeLogz, _ text: String = "") -> DaemonConfiguration {
        // In some years, the records in the files will be older than the default of `MaxAge=`.
        .forwarding(to: listener, "ConnectTimeout=1s\n[Store]\nMaxAge=36500d\n\(text)")
    }

    /// Returns the number of records that make.py reports only for version 13 and later ones.
    private static func merged(in version: Int) -> Int { version >= 13 ? 2 : 0 }

    /// Puts the database of a version in the place of the daemon's own.
    private func place(_ version: Int, _ daemon: DaemonFixture) throws {
        let state = daemon.folder["state"]
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: state)
        let copy = "\(daemon.database).gz"
        try FileManager.default.copyItem(
            atPath: Self.kept.appending(path: "store-\(version).db.gz").path, toPath: copy)
        let gunzip = try ChildProcess("/usr/bin/gunzip", [copy], in: daemon.folder, name: "gunzip")
        #expect(try gunzip.end() == .exit(0))
        #expect(try DatabaseFile(daemon.database).rows("PRAGMA user_version", columns: 1) == [["\(version)"]])
    }

    /// Expects the records that make.py reports.
    private func expectAll(_ client: RawClient, of version: Int) throws {
        let records = try client.allRecords().map(\.record)
        var expected = (0..<20).map { "Cannot charge order \($0)" } + (0..<9).map { "Row \($0) is not valid" }
        expected.append("No space left")
        if version >= 13 { expected += ["Cannot connect", "Connection refused"] }
        #expect(records.map(\.message).sorted() == expected.sorted())
        #expect(records.filter { $0.app?.version == "1.2" }.count == 20)
        #expect(records.first { $0.message == "Cannot charge order 7" }?.metadata == .object([.init("order", 7)]))
    }

    private func expectStates(_ client: RawClient, of version: Int) throws {
        let states = try client.groups().map { "\($0.app ?? "") \($0.records) \($0.level) \($0.state)" }
        let merged = version >= 13 ? ["web 2 error open"] : []
        #expect(
            states.sorted() == ["import 9 warning muted", "shop 1 critical open", "shop 20 error resolved"] + merged)
        let muted = try client.groups().first { $0.app == "import" }
        #expect(muted?.mutedUntilCount == (version >= 13 ? 1000 : nil))
    }

    @Test(
        "A database of an earlier version is upgraded in place, and its pending records are forwarded",
        arguments: 9...16)
    func upgraded(version: Int) async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(Self.forwarding(to: listener), starts: false) { daemon in
            try place(version, daemon)
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            #expect(try client.status().store.faults == [])
            try expectAll(client, of: version)
            try expectStates(client, of: version)
            let before = Set(try client.allRecords().map(\.id))
            #expect(before.isDisjoint(with: try client.report("A new one", app: "shop")))
            try await eventually("everything is forwarded") { try client.destination().ledger.pending == 0 }
            let ledger = try client.destination().ledger
            let count = 31 + Self.merged(in: version)
            #expect(ledger.received == Int64(count) && ledger.balances)
            // Limits hold back some of the records that were not in a batch yet.
            #expect(ledger.delivered + ledger.withheld + ledger.summarised == Int64(count))
            #expect(ledger.delivered >= 5)
            try daemon.restart()
            #expect(try RawClient(path: daemon.socket).allRecords().count == count)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test(
        "After an upgrade, an issue that was resolved in a given version is reopened only by a version with the fix",
        arguments: 11...16)
    func fixedVersion(version: Int) async throws {
        try await DaemonFixture.with("[Store]\nMaxAge=36500d", starts: false) { daemon in
            try place(version, daemon)
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            func state(after applicationVersion: String) throws -> GroupState? {
                let app = Application(name: "shop", version: applicationVersion)
                _ = try client.report([IssueRecord(message: "Cannot charge order 20", app: app)])
                return try client.groups().first { $0.title.hasPrefix("Cannot charge") }?.state
            }
            #expect(try state(after: "1.2") == .resolved)
            _ = try client.call(
                .deploy, DeployParameters(app: "shop", version: "1.3"), returning: DeployReply.self)
            let deployments = try client.call(
                .deployments, DeploymentsParameters(app: "shop"), returning: DeploymentsReply.self
            ).deployments
            #expect(deployments.map(\.version) == ["1.3", "1.2"])
            #expect(deployments.last?.commit == "3f1c9d2")
            #expect(try state(after: "1.3") == .open)
        }
    }

    @Test(
        "After an upgrade, pending notifications are sent, and listed silences are unchanged", arguments: [14, 15, 16])
    func notifications(version: Int) async throws {
        let receiver = try WebhookReceiver()
        let text = "[Store]\nMaxAge=36500d\n[Notify oncall]\nURL=\(receiver.url)\nDelay=0"
        try await DaemonFixture.with(DaemonConfiguration(text), starts: false) { daemon in
            try place(version, daemon)
            let end = try daemon.file.rows("SELECT until FROM silences", columns: 1)
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            let count = 5 + (version >= 15 ? 1 : 0)
            try await eventually("all are delivered") { try client.status().notifiers.first?.delivered == count }
            #expect(receiver.messages.reduce(0) { $0 + ($1["total"]?.asInteger ?? 0) } == Int64(count))
            let kinds = Set(receiver.messages.flatMap { $0["kinds"]?.asArray ?? [] }.compactMap(\.asString))
            #expect(kinds == (version >= 15 ? ["new", "critical", "escalated"] : ["new", "critical"]))
            let silences = try client.call(.listSilences, JSONValue.object([]), returning: SilencesReply.self).silences
            // The silence ends a year after the file was made, and is no longer listed then.
            let isOver = try #require(Int64(end[0][0])) < IssueTimestamp.fromNow(.zero).millisecondsSince1970
            #expect(silences.map(\.reason) == (isOver ? [] : ["migration"]))
            #expect(silences.allSatisfy { $0.apps == ["import"] })
        }
    }

    @Test("A database of a version that can't be upgraded is moved aside, and repair imports all of it", arguments: [8])
    func imported(version: Int) async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(Self.forwarding(to: listener), starts: false) { daemon in
            try place(version, daemon)
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            #expect(try client.status().store.faults.count == 1)
            #expect(try daemon.issuectl(["repair"]).output.hasPrefix("30 records recovered"))
            try expectAll(client, of: version)
            try expectStates(client, of: version)
            #expect(try client.status().store.faults == [])
            try await eventually("everything is forwarded") { try client.destination().ledger.pending == 0 }
            #expect(try client.destination().ledger.balances)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("Calls of earlier clients are answered without an error", arguments: [8, 9, 10, 13, 15])
    func calls(version: Int) async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let calls = try String(
                contentsOf: Self.kept.appending(path: "calls-\(version).json"), encoding: .utf8)
            var answered = 0
            for call in calls.split(separator: "\n") {
                let call = try JSONSerialization.jsonObject(with: Data(call.utf8)) as? [String: Any]
                let method = try #require(call?["method"] as? String)
                // The ids in these calls are those of another database, and one day the end of the silence will be in
                // the past.
                if ["SetState", "MergeGroups", "AddSilence"].contains(where: method.hasSuffix) { continue }
                let parameters = try JSONSerialization.data(withJSONObject: call?["parameters"] ?? [:])
                try client.begin(method, String(decoding: parameters, as: UTF8.self))
                let reply = try client.reply()
                #expect(reply.error == nil, "\(method): \(String(decoding: reply.parameters, as: UTF8.self))")
                answered += 1
            }
            #expect(answered > 35)
            #expect(try client.allRecords().count == 30 + Self.merged(in: version))
            #expect(try client.groups().count == 3 + Self.merged(in: version))
        }
    }

    @Test("Calls that an earlier issuectl could not send are sent by the current issuectl", arguments: [9, 15])
    func spill(version: Int) async throws {
        try await DaemonFixture.with { daemon in
            let folder = daemon.folder[".local/state/issued/unsent/issuectl"]
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let spill = Self.kept.appending(path: "spill-\(version)")
            for name in try FileManager.default.contentsOfDirectory(atPath: spill.path) {
                try FileManager.default.copyItem(atPath: "\(spill.path)/\(name)", toPath: "\(folder)/\(name)")
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder)/\(name)")
            }
            try daemon.issuectl(["list"])
            let client = try RawClient(path: daemon.socket)
            try await eventually("the call is stored") {
                try client.allRecords().map(\.record.message) == ["Backup failed"]
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".call") } == [])
        }
    }
}
