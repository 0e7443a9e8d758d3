import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

/// Runs the examples in the chapters of Operations.md that are about tasks.
@Suite("Operations.md, by task", .daemonLog)
struct OperationsTaskTests {
    private func record(_ message: String, version: String? = nil, severity: IssueLevel = .error) -> IssueRecord {
        IssueRecord(message: message, severity: severity, app: Application(name: "shop", version: version))
    }

    @Test("The examples of all sections are run by the tests here and in OperationsTests")
    func sections() throws {
        #expect(
            try OperationsPage.sections == [
                "Status", "Monitoring", "Find out when an issue began", "Deployments", "Resolve and mute issues",
                "Find out what is wrong", "Nothing arrives at Logz.io", "Rotate the token",
                "Far fewer records arrive than were reported", "Who is flooding us", "The disk fills up",
                "The destination rejects records", "No notification arrives", "An issue must be fixed, and stay fixed",
                "The configuration has an error", "The daemon can't be reached", "The database is damaged",
            ])
    }

    @Test("Look at the status")
    func status() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let configuration = DaemonConfiguration(
            "[LogzIO]\nURL=http://127.0.0.1:\(listener.port)\nCredential=TOKENFILE\nBatchDelay=100ms")
        try await DaemonFixture.with(configuration) { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report([record("Cannot send the receipt")])
            for _ in 0..<10 { _ = try client.report([record("Cannot charge the card")]) }
            try await eventually("all records have a fate") { try client.destination().ledger.pending == 0 }
            try await eventually("nothing is sent") { try client.destination().state == .idle }
            try OperationsPage.run("Status", on: daemon)
        }
    }

    @Test("Monitor the daemon")
    func health() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let client = try RawClient(path: daemon.socket)
            try OperationsPage.run("Monitoring", on: daemon) { index in
                guard index == 1 else { return }
                try daemon.writeToken("an-old-token")
                try daemon.reload()
                for number in 0..<17 { _ = try client.report([record("Cannot charge card \(number)")]) }
                while try client.destination().state != .paused { usleep(5000) }
            }
        }
    }

    @Test("Find out when an issue began")
    func histogram() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            for _ in 0..<3 { _ = try client.report([record("Cannot charge the card")]) }
            _ = try client.report([record("RAID has failed", severity: .critical)])
            try OperationsPage.run("Find out when an issue began", on: daemon)
        }
    }

    @Test("Declare deployments, and see what they have changed")
    func deployments() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            try OperationsPage.run("Deployments", on: daemon) { index in
                if index == 1 { _ = try client.report([record("Cannot charge the card", version: "2.3.1")]) }
                if index == 3 { _ = try client.report([record("Cannot send the receipt", version: "2.4.0")]) }
            }
        }
    }

    @Test("Resolve and mute issues")
    func states() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report([record("Cannot charge the card", version: "2.3.1")])
            let group = try #require(try client.groups().first).id
            try OperationsPage.run("Resolve and mute issues", on: daemon, replacing: ["g92c9da597585468b": group])
            #expect(try client.groups().first?.state == .open)
        }
    }

    @Test("Make backups, and erase records")
    func maintenance() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            var about = record("Cannot charge the card")
            about.context = IssueContext(user: "c-4711")
            _ = try client.report([about, record("Cannot send the receipt")])
            try OperationsPage.run("Erasing", on: daemon)
            #expect(try client.allRecords().map(\.record.message) == ["Cannot send the receipt"])
            try FileManager.default.createDirectory(
                atPath: daemon.folder["copies"], withIntermediateDirectories: false)
            try OperationsPage.run("Backup and restore", on: daemon)
            #expect(try FileManager.default.contentsOfDirectory(atPath: daemon.folder["copies"]).count == 1)
        }
    }

    @Test("Find out what is wrong")
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
            try OperationsPage.run("Find out what is wrong", on: daemon)
            try OperationsPage.run("States of a destination", on: daemon)
        }
    }

    @Test("No notification arrives")
    func notifications() async throws {
        let receiver = try WebhookReceiver()
        receiver.reply(.status(404))
        try await DaemonFixture.with(
            DaemonConfiguration("[Notify oncall]\nURL=\(receiver.url)\nFormat=slack\nDelay=0")
        ) { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report([record("Cannot charge the card")])
            try await eventually("the notifier is paused") { try client.status().notifiers.first?.state == .paused }
            let until = IssueTimestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000) + 7_230_000)
            _ = try client.call(
                .addSilence,
                AddSilenceMessage(silence: IssueSilence(apps: ["shop"], until: until, reason: "database migration")),
                returning: AddSilenceMessage.self)
            try OperationsPage.run("No notification arrives", on: daemon)
        }
    }
}
