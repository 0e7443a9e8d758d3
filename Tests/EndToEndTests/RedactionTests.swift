import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Redaction before storing", .daemonLog)
struct RedactionTests {
    /// The planted secrets. None is a part of another one.
    private static let secrets = [
        "plantedPw1", "plantedSecret2", "plantedTok3-9a8b", "plantedApi4", "plantedAuth5x", "plantedCookie6",
        "plantedBearer7.zz", "plantedUser8:plantedPw9",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.cGxhbnRlZC1zaWduYXR1cmU", "MIIEplantedPEM10",
        "AKIAPLANTEDPLANTED11", "kQwErTyUiOpAsDfGhJkLzXcVbNmQaZwS", "4111111111111111", "DE89370400440532013000",
        "planted.ann@example.net", "203.0.113.77",
    ]

    /// Texts that contain the secrets where an application might write them.
    private static let texts = [
        "login with password=plantedPw1 failed", "client_secret: plantedSecret2", "GET /x?token=plantedTok3-9a8b&y=1",
        "api_key=plantedApi4", "Authorization: Basic plantedAuth5x", "Cookie: sid=plantedCookie6; a=b",
        "sent Bearer plantedBearer7.zz", "connect to postgres://plantedUser8:plantedPw9@db/x",
        "token was \(secrets[8])",
        "-----BEGIN PRIVATE KEY-----\nMIIEplantedPEM10\n-----END PRIVATE KEY-----", "denied for AKIAPLANTEDPLANTED11",
        "logz.io refused kQwErTyUiOpAsDfGhJkLzXcVbNmQaZwS", "card 4111 1111 1111 1111 or 4111111111111111",
        "pay DE89370400440532013000", "mail planted.ann@example.net", "peer 203.0.113.77 left",
    ]

    @Test("No secret is in database, WAL, backup, dead letters, log, replies or requests")
    func nowhere() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = "GroupBurst=1000\nApplicationBurst=1000\n[Redaction]\nEmail=mask\nIP=hash\n[Log]\nLevel=debug"
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let client = try RawClient(path: daemon.socket)
            try listener.plan(FaultStep(.poison("POISON"), times: .forever))
            var records: [IssueRecord] = []
            for (index, text) in Self.texts.enumerated() {
                let app = Application(name: "shop")
                records.append(IssueRecord(message: text, severity: .critical, app: app))
                records.append(IssueRecord(message: "POISON \(text)", app: app))
                var nested = IssueRecord(message: "Nested \(index)", app: app)
                let escaped = String(decoding: JSONValue.string(text).json, as: UTF8.self)
                nested.metadata = try JSONValue(json: "{\"crumbs\":[{\"message\":\(escaped)}]}")
                nested.causes = [IssueCause(domain: "d", code: 1, message: text)]
                nested.fingerprint = "\(index) \(text)"
                nested.domain = text
                nested.context = IssueContext(requestID: text, user: text)
                records.append(nested)
            }
            _ = try client.report(records)
            try await eventually("the poisoned ones are dead letters, and the others have arrived") {
                let ledger = try client.destination().ledger
                return ledger.pending == 0 && ledger.deadLettered >= Self.texts.count
            }
            let copy = daemon.folder["copy.db"]
            var seen: [(String, Data)] = []
            func answer(_ method: String, _ parameters: String) throws {
                let reply = try client.call("org.issued.Collector.\(method)", parameters)
                seen.append((method, Data(reply.parameters)))
            }
            try answer("Status", "{}")
            try answer("List", "{}")
            try answer("Records", "{}")
            try answer("DeadLetters", #"{"lines":true}"#)
            try add(daemon.database, to: &seen)
            try add(daemon.database + "-wal", to: &seen)
            try daemon.issuectl(["backup", copy])
            try add(copy, to: &seen)
            // The rejected lines are those of the dead letters.
            #expect(listener.accepted.count >= 2 * Self.texts.count)
            seen += listener.accepted.map { ("a line of a request", Data($0.text.utf8)) }
            let status = try client.status()
            try daemon.terminate()
            try add(daemon.database, to: &seen)
            seen.append(("the log", Data(daemon.log.utf8)))
            try await daemon.logs("[@password]")
            for (place, data) in seen {
                for secret in Self.secrets { #expect(data.range(of: Data(secret.utf8)) == nil, "\(place): \(secret)") }
            }
            // Each rule has found its value in messages, metadata, causes and domains.
            #expect(status.redactions.count == 16)
            #expect(status.redactions.allSatisfy { $0.count >= 4 }, "\(status.redactions)")
            let key = try Data(contentsOf: URL(filePath: daemon.folder["state/redaction.key"]))
            #expect(key.count == 16)
        }
    }

    @Test("A reload changes the rules, and records keep their group")
    func reload() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let one = try client.report("User ann@example.net has no rights")
            try daemon.configure("[Redaction]\nEmail=mask")
            try daemon.reload()
            let two = try client.report("User bob@example.net has no rights")
            #expect(try client.show(one[0]).record?.message == "User ann@example.net has no rights")
            #expect(try client.show(two[0]).record?.message == "User [@email] has no rights")
            #expect(try client.show(one[0]).group.id == client.show(two[0]).group.id)
        }
    }

    @Test("A repair imports redacted records into the same groups as equal new records")
    func repair() async throws {
        try await DaemonFixture.with { daemon in
            let messages = ["card 4111111111111111 declined", "Login of ann failed, password: hunter22 given"]
            for message in messages { _ = try RawClient(path: daemon.socket).report(message) }
            try daemon.terminate()
            try FileManager.default.moveItem(
                atPath: daemon.database, toPath: daemon.database + ".damaged-2026-11-23T12:00:00.000Z")
            try daemon.start()
            try daemon.issuectl(["repair"])
            let client = try RawClient(path: daemon.socket)
            let before = try client.groups().map(\.id)
            #expect(before.count == 2)
            for message in messages { _ = try client.report(message) }
            #expect(try client.groups().map(\.id).sorted() == before.sorted())
            #expect(try client.groups().map(\.records) == [2, 2])
        }
    }

    private func add(_ path: String, to seen: inout [(String, Data)]) throws {
        seen.append((path, try Data(contentsOf: URL(filePath: path))))
    }
}
