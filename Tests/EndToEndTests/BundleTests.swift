import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Support bundles", .daemonLog)
struct BundleTests {
    /// Texts of messages, metadata and secrets. No bundle may contain any of them.
    private static let planted = [
        "plantedMessage", "plantedValue", "plantedKey", "plantedPassword", "planted@example.net", "plantedRequest",
        "plantedBody", "plantedHook", "plantedCause", "plantedToken", DaemonConfiguration.token,
    ]

    /// The reason why an ordinary user can't run `issuectl`, or nil.
    private static let obstacle: String? = {
        if let obstacle = OtherUser.obstacle { return obstacle }
        guard let program = try? TestBinaries.path(of: "issuectl"), let folder = try? ScratchFolder(),
            let test = try? run(["/usr/bin/test", "-x", program], in: folder, name: "test")
        else { return nil }
        // The build folder may be in a folder that other users can't enter.
        return (try? test.end()) == .exit(1) ? "user 4242 can't run \(program)" : nil
    }()

    private static func run(_ words: [String], in folder: ScratchFolder, name: String) throws -> ChildProcess {
        try ChildProcess(try OtherUser.launcher(4242) + words, in: folder, name: name)
    }

    private func record(_ text: String) throws -> IssueRecord {
        var record = IssueRecord(
            message: "\(text) plantedMessage of planted@example.net, password=plantedPassword", severity: .critical,
            app: Application(name: "shop", version: "2.4.0"))
        record.metadata = try JSONValue(json: #"{"plantedKey 7":"plantedValue","note":"for plantedMessage"}"#)
        record.context = IssueContext(requestID: "plantedRequest")
        record.causes = [IssueCause(domain: "d", code: 1, message: "plantedCause")]
        return record
    }

    private func bundle(
        _ daemon: DaemonFixture, _ words: String..., ends end: ChildProcess.End = .exit(0)
    ) throws -> ChildProcess {
        try daemon.issuectl(["bundle", "--config", daemon.configurationFile] + words, ends: end)
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: URL(filePath: path), encoding: .utf8)
    }

    /// Returns the part of a bundle with this name, or an empty string if there is none.
    private func part(_ name: String, _ text: String) -> String {
        let start = text.range(of: "\n==== \(name) ====\n\n")
        return String(start.map { text[$0.upperBound...] } ?? "").components(separatedBy: "\n==== ")[0]
    }

    @Test(
        "A bundle has no secrets, metadata or values of messages, even without a daemon; only --force replaces a file")
    func secrets() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = """
            [Redaction]
            Password=off
            [Notify oncall]
            URL=http://127.0.0.1:9/plantedHook
            [Notify pager]
            Command=/bin/true --token plantedToken
            """
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let client = try RawClient(path: daemon.socket)
            try listener.plan(FaultStep(.poison("POISON"), times: .forever))
            _ = try client.report((0..<5).flatMap { [try record("POISON \($0)"), try record("Order \($0)")] })
            try await eventually("no record is pending, and some are dead letters") {
                try client.destination().ledger.deadLettered > 0 && client.destination().ledger.pending == 0
            }
            // The planted texts are where a bundle could find them.
            let stored = try client.allRecords()
            #expect(stored.allSatisfy { $0.record.message.contains("password=plantedPassword") })

            let (plain, full) = (daemon.folder["bundle.txt"], daemon.folder["messages.txt"])
            _ = try bundle(daemon, "-o", plain)
            _ = try bundle(daemon, "-o", full, "--with-messages", "-n", "7")
            let status = try FileManager.default.attributesOfItem(atPath: plain)
            #expect(status[.posixPermissions] as? Int == 0o600)
            for path in [plain, full] {
                let content = try text(path)
                for word in Self.planted { #expect(!content.contains(word), "\(path): \(word)") }
                for name in [
                    "system", "versions", "configuration", "status", "health", "metrics", "doctor", "files", "schema",
                    "rows", "ledger", "limits", "plans",
                ] {
                    let found = part(name, content)
                    #expect(!found.isEmpty && !found.hasPrefix("missing"), "\(name): \(found.prefix(200))")
                }
                #expect(part("configuration", content).contains("URL=http://127.0.0.1:9/(removed)\n"))
                #expect(part("configuration", content).contains("Command=/bin/true (removed)\n"))
                #expect(part("schema", content).contains("CREATE TABLE groups"))
                #expect(part("ledger", content).contains("\tdead_lettered\t"))
                #expect(part("plans", content).contains("# List: groups, newest first\n"))
                #expect(!content.contains("missing: the query"))
            }
            let messages = part("messages", try text(full)).split(separator: "\n")
            #expect(messages.count == 7)
            #expect(messages.allSatisfy { $0.contains("\tcritical\t1\t") && $0.contains("<value> of ") })
            #expect(messages.contains { $0.contains("Order <n> <value> of ") })

            let before = try text(plain)
            #expect(try bundle(daemon, "-o", plain, ends: .exit(1)).errors.contains("already exists"))
            #expect(try text(plain) == before)
            try daemon.terminate()
            _ = try bundle(daemon, "-o", plain, "--force")
            let stopped = try text(plain)
            for word in Self.planted { #expect(!stopped.contains(word), "\(word)") }
            #expect(part("status", stopped).hasPrefix("missing: cannot reach the daemon at "))
            #expect(part("ledger", stopped).contains("\tdead_lettered\t"))
        }
    }

    @Test(
        "An ordinary user gets a bundle without the parts that they may not read",
        .enabled(if: obstacle == nil, "\(obstacle ?? "")"))
    func ordinaryUser() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report([try record("Order 1")])
            let program = try TestBinaries.path(of: "issuectl")
            let process = try Self.run(
                [
                    program, "bundle", "--socket", daemon.socket, "--config", daemon.configurationFile, "--database",
                    daemon.database, "-o", "-",
                ], in: daemon.folder, name: "bundle")
            #expect(try process.end() == .exit(0))
            let content = process.output
            for word in Self.planted { #expect(!content.contains(word), "\(word)") }
            #expect(part("status", content).contains("0 records in 0 groups"))
            #expect(part("ledger", content).hasPrefix("missing: permission denied for "))
        }
    }
}
