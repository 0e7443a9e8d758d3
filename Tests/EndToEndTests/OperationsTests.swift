import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

/// Runs examples in the chapter "By symptom" of Operations.md, each on a host that has the symptom.
@Suite("Operations.md, by symptom", .daemonLog)
struct OperationsTests {
    @Test("The examples of “Nothing arrives at Logz.io” and “Rotate the token” print what the page shows")
    func token() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            try daemon.writeToken("an-old-token")
            try daemon.reload()
            let client = try RawClient(path: daemon.socket)
            let ids = try client.report("Cannot charge the card", "Cannot send the receipt", app: "shop")
            try await eventually("the token is rejected") { try client.destination().state == .paused }
            try await OperationsPage.run("Nothing arrives at Logz.io", on: daemon)
            try daemon.writeToken(DaemonConfiguration.token)
            try daemon.reload()
            try await OperationsPage.run("Rotate the token", on: daemon)
            for id in ids { #expect(try client.awaitFates(of: id).map(\.outcome) == [.delivered]) }
        }
    }

    @Test("The examples of “Far fewer records arrive than were reported” print what the page shows")
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
            try await OperationsPage.run("Far fewer records arrive than were reported", on: daemon)
        }
    }

    @Test("The examples of “Who is flooding us” and “The disk fills up” print what the page shows")
    func flood() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let flood = (0..<2000).map { number in
                IssueRecord(message: "Row \(number) is not valid", app: Application(name: "import"))
            }
            for part in 0..<20 { _ = try client.report(Array(flood[part * 100..<part * 100 + 100])) }
            _ = try client.report("Cannot charge the card", app: "shop")
            try await OperationsPage.run("Who is flooding us", on: daemon)
            try await OperationsPage.run("The disk fills up", on: daemon)
        }
    }

    @Test("The examples of “The destination rejects records” print what the page shows")
    func deadLetters() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let client = try RawClient(path: daemon.socket)
            try listener.plan(FaultStep(.poison("card"), times: .forever))
            let id = try client.report("Cannot charge the card", app: "shop")[0]
            #expect(try client.awaitFates(of: id).map(\.outcome) == [.deadLettered])
            try listener.reset()
            try await OperationsPage.run("The destination rejects records", on: daemon)
            #expect(try client.awaitFates(of: id).map(\.outcome) == [.delivered])
        }
    }

    @Test("The examples of “The configuration has an error” print what the page shows")
    func configuration() async throws {
        try await DaemonFixture.with { daemon in
            let text = try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)
            try daemon.folder.write(text + "[Store]\nMaxSiz=2G\n", to: "issued.conf")
            daemon.process?.signal(SIGHUP)
            try await eventually("the error is shown") {
                try !RawClient(path: daemon.socket).status().store.faults.isEmpty
            }
            try await OperationsPage.run("The configuration has an error", on: daemon)
        }
    }

    @Test("The examples of “The database is damaged” print what the page shows")
    func damage() async throws {
        try await DaemonFixture.with { daemon in
            let ids = try RawClient(path: daemon.socket).report("Cannot charge the card", app: "shop")
            #expect(ids.count == 1)
            try daemon.terminate()
            let file = try FileHandle(forUpdating: URL(filePath: daemon.database))
            try file.write(contentsOf: Data(repeating: 0xFF, count: 100))
            try file.close()
            try daemon.start()
            try await OperationsPage.run("The database is damaged", on: daemon)
        }
    }

    @Test("The examples of “The daemon can't be reached” print what the page shows")
    func unreachable() async throws {
        try await DaemonFixture.with { daemon in
            try daemon.terminate()
            try await OperationsPage.run("The daemon can't be reached", on: daemon)
        }
    }

    @Test("The examples of “An issue must be fixed, and stay fixed” print what the page shows")
    func regression() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Cannot charge the card", app: "shop")
            let group = try #require(try client.groups().first).id
            try await OperationsPage.run(
                "An issue must be fixed, and stay fixed", on: daemon, replacing: ["g92c9da597585468b": group]
            ) { index in
                if index == 1 { _ = try client.report("Cannot charge the card", app: "shop") }
            }
        }
    }
}
