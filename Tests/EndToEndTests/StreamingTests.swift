import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Streaming over TLS", .daemonLog)
struct StreamingTests {
    private func with(
        ca: Bool = true, _ body: (DaemonFixture, ScratchFolder, RawClient) async throws -> Void
    ) async throws {
        let listener = try await PythonServer("stream_listener")
        let folder = listener.folder
        let settings = """
            [Forward]
            BatchDelay=0
            CriticalDelay=0
            [LogzIO]
            URL=https://127.0.0.1:\(listener.port)
            Connection=streaming
            Credential=TOKENFILE
            \(ca ? "CAFile=\(folder["ca.pem"])" : "")
            """
        try await DaemonFixture.with(DaemonConfiguration(settings)) { daemon in
            try await body(daemon, folder, try RawClient(path: daemon.socket))
        }
        #expect(listener.isRunning)
    }

    private func lines(_ folder: ScratchFolder) throws -> [JSONValue] {
        try folder.text(of: "lines").split(separator: "\n").map { try JSONValue(json: String($0)) }
    }

    @Test("Each line arrives with the token, and is unconfirmed in the ledger")
    func unconfirmed() async throws {
        try await with { daemon, folder, client in
            var ids = try client.report("One", "Two “é”", "Three\nlines")
            try await eventually("the lines are there") { try lines(folder).count == 3 }
            try await eventually("the records have a fate") { try client.destination().ledger.unconfirmed == 3 }
            #expect(try client.show(ids[0]).fates.map(\.outcome) == [.unconfirmed])
            // The listener closes the connection, and later records use a new one.
            try folder.write("", to: "hang-up")
            ids += try client.report("Four")
            try await eventually("the fourth line is there") { folder.text(of: "lines").contains("Four") }
            ids += try client.report("Five")
            try await eventually("the fifth line is there") { try lines(folder).contains { $0["message"] == "Five" } }
            #expect(try Set(lines(folder).compactMap { $0["event_id"]?.asString }) == Set(ids))
            #expect(try lines(folder).allSatisfy { $0["token"]?.asString == DaemonConfiguration.token })
            try await eventually("all records are sent") { try client.destination().ledger.unconfirmed == 5 }
            #expect(try client.destination().ledger.balances)
            #expect(try daemon.file.ledgerFaults == [])
            #expect(!daemon.log.contains(DaemonConfiguration.token))
            let stored = try daemon.file.rows("SELECT count(*) FROM dead_letters", columns: 1)
            #expect(stored == [["0"]])
        }
    }

    @Test("Nothing is sent to a listener with an untrusted certificate, and the status says why")
    func failsClosed() async throws {
        try await with(ca: false) { _, folder, client in
            _ = try client.report("Secret")
            try await eventually("the certificate is not trusted") { try client.destination().reason == "tls" }
            #expect(try client.destination().lastAnswer?.contains("unknown authority") == true)
            #expect(folder.text(of: "lines").isEmpty)
            #expect(try client.destination().ledger.pending == 1)
        }
    }
}
