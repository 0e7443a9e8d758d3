import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("TLS errors", .daemonLog)
struct TLSFaultTests {
    private func with(
        environment: [String: String] = [:], forward: String = "",
        _ body: (FakeLogz, TLSFront, DaemonFixture, RawClient) async throws -> Void
    ) async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let front = try await TLSFront(before: listener.port)
        let settings = """
            [Forward]
            BatchDelay=0
            CriticalDelay=0
            ConnectTimeout=500ms
            \(forward)
            [LogzIO]
            URL=https://127.0.0.1:\(front.port)
            Credential=TOKENFILE
            CAFile=\(front.caFile)
            """
        var configuration = DaemonConfiguration(settings)
        configuration.environment.merge(environment) { $1 }
        try await DaemonFixture.with(configuration) { daemon in
            try await body(listener, front, daemon, try RawClient(path: daemon.socket))
        }
    }

    @Test(
        "Without trusted TLS, nothing is sent, and the status says why; with trusted TLS, each record arrives once",
        arguments: [
            ("tls_unknown_ca", "tls", "was issued by an unknown authority"),
            ("tls_expired", "tls", "has expired"),
            ("tls_not_yet_valid", "tls", "is not valid yet"),
            ("tls_wrong_host", "tls", "is for another host name"),
            ("tls_old", "tls", "the peer may not use TLS, or only a version before 1.2"),
            ("tls_plaintext", "tls", "the peer may not use TLS, or only a version before 1.2"),
            ("tls_stall", "timeout", "timed out"),
        ])
    func failsClosed(fault: String, reason: String, message: String) async throws {
        try await with { listener, front, daemon, client in
            try front.set(fault)
            let ids = try client.report("A secret", "Another")
            try await eventually("the reason is shown") {
                try client.destination().lastAnswer?.contains(message) == true
            }
            #expect(try client.destination().reason == reason)
            #expect(listener.requests.isEmpty)
            #expect(try client.destination().ledger.pending == 2)
            try front.set("")
            try await eventually("all records have arrived") {
                try client.destination().ledger.delivered == 2
            }
            #expect(listener.compare(with: ids).isMet)
            #expect(listener.stats.duplicates == 0)
            #expect(try daemon.file.ledgerFaults == [])
            #expect(!daemon.log.contains(DaemonConfiguration.token))
        }
    }

    @Test(
        "TLS 1.1 is refused even if OpenSSL's configuration allows it, and records wait",
        .enabled("OpenSSL on this host does not support TLS 1.1") { try await TLSFront.supportsOldVersion })
    func oldVersion() async throws {
        let folder = try ScratchFolder(named: "openssl")
        let lenient = """
            openssl_conf = all
            [all]
            ssl_conf = ssl
            [ssl]
            system_default = default
            [default]
            MinProtocol = TLSv1
            CipherString = ALL:@SECLEVEL=0
            """
        try folder.write(lenient, to: "openssl.cnf")
        try await with(environment: ["OPENSSL_CONF": folder["openssl.cnf"]]) { listener, front, daemon, client in
            try front.set("tls_old")
            let ids = try client.report("A secret")
            try await eventually("the status has the reason") {
                try client.destination().lastAnswer?.contains("the peer may not use TLS, or only a version before 1.2")
                    == true
            }
            #expect(listener.requests.isEmpty)
            #expect(try client.destination().ledger.pending == 1)
            try front.set("")
            try await eventually("the record has arrived") {
                try client.destination().ledger.delivered == 1
            }
            #expect(listener.compare(with: ids).isMet)
        }
    }

    @Test("A request to a server that sends endless TLS messages ends at the time limit, and the record is kept")
    func floodUntilTimeout() async throws {
        try await with(forward: "RequestTimeout=1s") { listener, front, daemon, client in
            try front.set("tls_tickets")
            let ids = try client.report("To be kept")
            try await eventually("the reason is shown") {
                try client.destination().lastAnswer?.contains("did not respond in time") == true
            }
            #expect(front.isFlooding)
            #expect(try client.destination().reason == "no_answer")
            try front.set("")
            try await eventually("the record has arrived") {
                try client.destination().ledger.delivered == 1
            }
            #expect(listener.compare(with: ids).isMet)
        }
    }

    @Test("A server that sends endless TLS messages does not keep the daemon from stopping")
    func floodWhileStopping() async throws {
        try await with(forward: "RequestTimeout=10min") { _, front, daemon, client in
            try front.set("tls_tickets")
            _ = try client.report("To be kept")
            try await eventually("the server sends") { front.isFlooding }
            #expect(try daemon.terminate(within: .seconds(20)) == .exit(0))
            #expect(try daemon.file.ledgerFaults == [])
        }
    }
}
