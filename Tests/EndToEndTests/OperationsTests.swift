import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

/// Runs the examples in the chapter "By symptom" of Operations.md, each on a host that has the symptom.
@Suite("Operations.md, by symptom", .daemonLog)
struct OperationsTests {
    @Test("Nothing arrives at Logz.io, and the token is replaced")
    func token() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            try daemon.writeToken("an-old-token")
            try daemon.reload()
            let client = try RawClient(path: daemon.socket)
            let ids = try client.report("Cannot charge the card", "Cannot send the receipt", app: "shop")
            try await eventually("the token is rejected") { try client.destination().state == .paused }
            try OperationsPage.run("Nothing arrives at Logz.io", on: daemon)
            try daemon.writeToken(DaemonConfiguration.token)
            try daemon.reload()
            try OperationsPage.run("Rotate the token", on: daemon)
            for id in ids { #expect(try client.awaitFates(of: id).map(\.outcome) == [.delivered]) }
        }
    }

    @Test("Far fewer records arrive than were reported")
    func limits() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let configuration = DaemonConfiguration(
            """
            [Forward]
            SendRate=0
            [LogzIO]
            URL=http://127.0.0.1:\(listener.port)
            Credential=TOKENFILE
            """)
        try await DaemonFixture.with(configuration) { daemon in
            let client = try RawClient(path: daemon.socket)
            var ids: [String] = []
            for _ in 0..<50 { ids += try client.report("Cannot charge the card", app: "shop") }
            _ = try client.awaitFates(of: ids[0])
            try await eventually("the rest is held back") { try client.destination().ledger.pending == 0 }
            try OperationsPage.run("Far fewer records arrive than were reported", on: daemon)
        }
    }

    @Test("One user or application floods the host")
    func flood() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let flood = (0..<2000).map { number in
                IssueRecord(message: "Row \(number) is not valid", app: Application(name: "import"))
            }
            for part in 0..<20 { _ = try client.report(Array(flood[part * 100..<part * 100 + 100])) }
            _ = try client.report("Cannot charge the card", app: "shop")
            try OperationsPage.run("Who is flooding us", on: daemon)
            try OperationsPage.run("The disk fills up", on: daemon)
        }
    }

    @Test("Logz.io rejects single records")
    func deadLetters() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let client = try RawClient(path: daemon.socket)
            try listener.plan(FaultStep(.poison("card"), times: .forever))
            let id = try client.report("Cannot charge the card", app: "shop")[0]
            #expect(try client.awaitFates(of: id).map(\.outcome) == [.deadLettered])
            try listener.reset()
            try OperationsPage.run("The destination rejects records", on: daemon)
            #expect(try client.awaitFates(of: id).map(\.outcome) == [.delivered])
        }
    }

    @Test("The configuration has an error")
    func configuration() async throws {
        try await DaemonFixture.with { daemon in
            let text = try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)
            try daemon.folder.write(text + "[Store]\nMaxSiz=2G\n", to: "issued.conf")
            daemon.process?.signal(SIGHUP)
            try await eventually("the error is shown") {
                try !RawClient(path: daemon.socket).status().store.faults.isEmpty
            }
            try OperationsPage.run("The configuration has an error", on: daemon)
        }
    }

    @Test("The database is damaged")
    func damage() async throws {
        try await DaemonFixture.with { daemon in
            let ids = try RawClient(path: daemon.socket).report("Cannot charge the card", app: "shop")
            #expect(ids.count == 1)
            try daemon.terminate()
            let file = try FileHandle(forUpdating: URL(filePath: daemon.database))
            try file.write(contentsOf: Data(repeating: 0xFF, count: 100))
            try file.close()
            try daemon.start()
            try OperationsPage.run("The database is damaged", on: daemon)
        }
    }

    @Test("The daemon is not running")
    func unreachable() async throws {
        try await DaemonFixture.with { daemon in
            try daemon.terminate()
            try OperationsPage.run("The daemon can't be reached", on: daemon)
        }
    }

    @Test("A resolved issue comes back")
    func regression() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Cannot charge the card", app: "shop")
            let group = try #require(try client.groups().first).id
            try OperationsPage.run(
                "An issue must be fixed, and stay fixed", on: daemon, replacing: ["g92c9da597585468b": group]
            ) {
                _ = try client.report("Cannot charge the card", app: "shop")
            }
        }
    }
}

/// The examples of Operations.md: commands after "$ ", and the output that follows.
///
/// Numbers, units, times, ids and white space may differ. "…" stands for any text, and a line of "…" alone for any
/// lines. Commands after "# ", for root, are not run.
private enum OperationsPage {
    private struct Example {
        let command: String
        var output: [String] = []
    }

    struct Missing: Error {
        let section: String
    }

    /// Runs the examples of a section in order, and compares what they print.
    ///
    /// - Parameters:
    ///   - replacing: Texts of the page, and what they are on this host.
    ///   - between: Called once, before the second command.
    static func run(
        _ section: String, on daemon: DaemonFixture, replacing: [String: String] = [:],
        between: () throws -> Void = {}, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) throws {
        let here = [
            "/etc/issued/issued.conf": daemon.configurationFile, "/var/lib/issued/": daemon.folder["state/"],
            "/etc/credstore/logzio-token": daemon.tokenFile, "/run/issued/issued.sock": daemon.socket,
        ].merging(replacing) { $1 }
        let examples = try examples(of: section)
        #expect(!examples.isEmpty, "\(section) has examples", sourceLocation: sourceLocation)
        for (index, example) in examples.enumerated() {
            if index == 1 { try between() }
            var command = example.command
            for (page, host) in here { command.replace(page, with: host) }
            var output = try output(of: command, on: daemon)
            for (page, host) in here { output.replace(host, with: page) }
            let printed = output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            #expect(
                matches(printed.map(plain)[...], example.output.map(plain)[...]),
                "\(section): \(example.command) printed\n\(output)====", sourceLocation: sourceLocation)
        }
    }

    private static func output(of command: String, on daemon: DaemonFixture) throws -> String {
        let programs = URL(filePath: try TestBinaries.path(of: "issuectl")).deletingLastPathComponent().path
        let process = try ChildProcess(
            "/bin/sh", ["-c", "exec 2>&1; \(command)"], in: daemon.folder, name: "example-\(UUID().uuidString)",
            environment: ["PATH": "\(programs):/usr/bin:/bin", "ISSUED_SOCKET": daemon.socket])
        try process.end(within: .seconds(60))
        return process.output
    }

    private static func examples(of section: String) throws -> [Example] {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let page = try String(contentsOf: root.appending(path: "Documentation/Operations.md"), encoding: .utf8)
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(of: "### \(section)") else { throw Missing(section: section) }
        let body = lines[(start + 1)...].prefix { !$0.hasPrefix("#") }
        var examples: [Example] = []
        var isExample = false
        for line in body {
            if line.hasPrefix("    $ ") {
                examples.append(Example(command: String(line.dropFirst(6))))
                isExample = true
            } else if line.hasPrefix("    # ") || !(line.isEmpty || line.hasPrefix("    ")) {
                isExample = false
            } else if isExample {
                examples[examples.count - 1].output.append(String(line.dropFirst(4)))
            }
        }
        return examples
    }

    /// Returns a line without what differs from host to host and from run to run.
    private static func plain(_ line: String) -> String {
        line.replacing(#/\bg[0-9a-f]{16}\b|\b[0-9a-z]{12}-[0-9a-z]+/#, with: "ID")
            .replacing(#/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?Z?/#, with: "TIME")
            .replacing(#/\d+([.,]\d+)*/#, with: "N")
            .replacing(#/N (B|KiB|MiB|GiB|ms|s|min|h|d)\b/#, with: "N UNIT")
            .replacing(#/N UNIT ago|in N UNIT|\bnow\b/#, with: "AGO")
            // A paused destination is tried again after a minute, which a slow machine may need for an example.
            .replacing(#/, N lines? sent again/#, with: "")
            .replacing(#/\bN requests\b/#, with: "N request")
            .replacing(#/[·▁▂▃▄▅▆▇█]+/#, with: "BAR")
            .split(separator: " ").joined(separator: " ")
    }

    /// Whether printed lines are those of the page.
    private static func matches(_ printed: ArraySlice<String>, _ page: ArraySlice<String>) -> Bool {
        guard let expected = page.first else { return printed.allSatisfy(\.isEmpty) }
        if expected == "…" {
            return (printed.startIndex...printed.endIndex).contains { matches(printed[$0...], page.dropFirst()) }
        }
        if expected.isEmpty, page.allSatisfy(\.isEmpty) { return printed.allSatisfy(\.isEmpty) }
        guard let line = printed.first else { return false }
        return matches(line, expected) && matches(printed.dropFirst(), page.dropFirst())
    }

    private static func matches(_ line: String, _ expected: String) -> Bool {
        let parts = expected.split(separator: "…", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return line == expected }
        var rest = line[...]
        for (index, part) in parts.enumerated() {
            if index == 0 {
                guard rest.hasPrefix(part) else { return false }
                rest = rest.dropFirst(part.count)
            } else if index == parts.count - 1 {
                return rest.hasSuffix(part)
            } else if let found = rest.range(of: part) {
                rest = rest[found.upperBound...]
            } else {
                return false
            }
        }
        return true
    }
}
