import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

/// Runs the examples of Operations.md before the chapter "By symptom", and those of "No notification arrives" in it.
@Suite("Operations.md, by task", .daemonLog)
struct OperationsTaskTests {
    private func record(_ message: String, version: String? = nil, severity: IssueLevel = .error) -> IssueRecord {
        IssueRecord(message: message, severity: severity, app: Application(name: "shop", version: version))
    }

    private static var hasDebugInformation: Bool {
        guard let path = try? TestBinaries.path(of: "client-under-test"),
            let program = try? Data(contentsOf: URL(filePath: path))
        else { return false }
        return program.range(of: Data(".debug_line".utf8)) != nil
    }

    @Test("The examples of every section are run by a test")
    func sections() throws {
        let here = try OperationsPage.sources([
            "EndToEndTests/OperationsTaskTests.swift", "EndToEndTests/OperationsTests.swift",
        ])
        let asRoot = try OperationsPage.sources(["Systemd/checks.py", "Package/checks"])
        for section in try OperationsPage.sections {
            var isRun = asRoot.contains("\"\(section.title)\"")
            if !section.needsRoot, !isRun {
                let title = NSRegularExpression.escapedPattern(for: section.title)
                isRun = here.contains(try Regex(#"run\(\s*"\#(title)", on: "#))
            }
            #expect(isRun, "\(section.title) is run by no test")
        }
        #expect(try OperationsPage.commandsWithoutPrompt == [])
    }

    @Test("The examples of “Status” print what the page shows")
    func status() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let configuration = DaemonConfiguration(
            "[LogzIO]\nURL=http://127.0.0.1:\(listener.port)\nCredential=TOKENFILE\nBatchDelay=100ms")
        try await DaemonFixture.with(configuration) { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report([record("Cannot send the receipt")])
            for _ in 0..<10 { _ = try client.report([record("Cannot charge the card")]) }
            try await eventually("no record is pending") { try client.destination().ledger.pending == 0 }
            try await eventually("nothing is sent") { try client.destination().state == .idle }
            try await OperationsPage.run("Status", on: daemon)
        }
    }

    @Test("The examples of “Monitoring” print what the page shows")
    func health() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let client = try RawClient(path: daemon.socket)
            try await OperationsPage.run("Monitoring", on: daemon) { index in
                guard index == 1 else { return }
                try daemon.writeToken("an-old-token")
                try daemon.reload()
                for number in 0..<17 { _ = try client.report([record("Cannot charge card \(number)")]) }
                try await eventually("the destination is paused") { try client.destination().state == .paused }
            }
        }
    }

    @Test("The examples of “Find out when an issue began” print what the page shows")
    func histogram() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            for _ in 0..<3 { _ = try client.report([record("Cannot charge the card")]) }
            _ = try client.report([record("RAID has failed", severity: .critical)])
            try await OperationsPage.run("Find out when an issue began", on: daemon)
        }
    }

    @Test("The examples of “Deployments” print what the page shows")
    func deployments() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            try await OperationsPage.run("Deployments", on: daemon) { index in
                if index == 1 { _ = try client.report([record("Cannot charge the card", version: "2.3.1")]) }
                if index == 3 { _ = try client.report([record("Cannot send the receipt", version: "2.4.0")]) }
            }
        }
    }

    @Test("The examples of “Resolve and mute issues” print what the page shows")
    func states() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report([record("Cannot charge the card", version: "2.3.1")])
            let group = try #require(try client.groups().first).id
            try await OperationsPage.run("Resolve and mute issues", on: daemon, replacing: ["g92c9da597585468b": group])
            #expect(try client.groups().first?.state == .open)
        }
    }

    @Test("The examples of “Erasing” and “Backup and restore” print what the page shows")
    func maintenance() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            var about = record("Cannot charge the card")
            about.context = IssueContext(user: "c-4711")
            _ = try client.report([about, record("Cannot send the receipt")])
            try await OperationsPage.run("Erasing", on: daemon)
            #expect(try client.allRecords().map(\.record.message) == ["Cannot send the receipt"])
            try FileManager.default.createDirectory(
                atPath: daemon.folder["copies"], withIntermediateDirectories: false)
            try await OperationsPage.run("Backup and restore", on: daemon)
            #expect(try FileManager.default.contentsOfDirectory(atPath: daemon.folder["copies"]).count == 1)
        }
    }

    @Test(
        "The examples of “Read a backtrace” print what the page shows",
        // A release build inlines the function.
        .enabled(
            if: !TestBinaries.areChosen && hasDebugInformation && TestBinaries.tool("/usr/bin/file") != nil,
            "needs file(1) and a debug build with debug information, as of swift build --build-tests"))
    func backtrace() async throws {
        try await DaemonFixture.with { daemon in
            let shop = try TestBinaries.path(of: "client-under-test")
            let process = try ChildProcess(
                shop, ["return", "1", "shop"], in: daemon.folder, name: "shop",
                environment: ["ISSUED_SOCKET": daemon.socket])
            #expect(try process.end() == .exit(0))
            let frames = try #require(try RawClient(path: daemon.socket).allRecords().first).record.backtrace
            // The first two frames are those of the library.
            let frame = try #require(frames.dropFirst(2).first)
            try await OperationsPage.run(
                "Read a backtrace", on: daemon,
                replacing: [
                    "/usr/bin/shop": shop, "7a244fd8d65f097c3c7f53fb2aebec8e6cf8071c": try #require(frame.buildID),
                    "0x1eb22c": "0x" + String(try #require(frame.offset), radix: 16),
                    "static Shop.charge(_:for:)": "static Work.report(_:from:)",
                    "/srv/shop/Sources/shop": TestBinaries.repository + "Tests/client-under-test",
                ])
        }
    }

    @Test("The examples of “Find out what is wrong” and “States of a destination” print what the page shows")
    func findings() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: ["another-token"]))
        defer { listener.stop() }
        let receiver = try WebhookReceiver()
        let notifiers =
            "[Notify chat]\nURL=\(receiver.url)\nEnvironments=production\n[Notify oncall]\nURL=\(receiver.url)"
        let configuration = DaemonConfiguration(
            "[LogzIO]\nURL=http://127.0.0.1:\(listener.port)\nCredential=TOKENFILE\nBatchDelay=100ms\n\(notifiers)")
        try await DaemonFixture.with(configuration) { daemon in
            let client = try RawClient(path: daemon.socket)
            for number in 0..<17 { _ = try client.report([record("Cannot charge card \(number)")]) }
            try await eventually("the token is rejected") { try client.destination().state == .paused }
            try await OperationsPage.run("Find out what is wrong", on: daemon)
            try await OperationsPage.run("States of a destination", on: daemon)
        }
    }

    @Test("The examples of “No notification arrives” print what the page shows")
    func notifications() async throws {
        let receiver = try WebhookReceiver()
        receiver.reply(.status(404))
        try await DaemonFixture.with(
            DaemonConfiguration("[Notify oncall]\nURL=\(receiver.url)\nFormat=slack\nDelay=0")
        ) { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report([record("Cannot charge the card")])
            try await eventually("the notifier is paused") { try client.status().notifiers.first?.state == .paused }
            let until = IssueTimestamp.fromNow(.seconds(7230))
            _ = try client.call(
                .addSilence,
                AddSilenceMessage(silence: IssueSilence(apps: ["shop"], until: until, reason: "database migration")),
                returning: AddSilenceMessage.self)
            try await OperationsPage.run("No notification arrives", on: daemon)
        }
    }
}
