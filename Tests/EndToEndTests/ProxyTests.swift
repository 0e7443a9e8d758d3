import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Forwarding through a proxy", .daemonLog)
struct ProxyTests {
    /// A running `proxy.py`.
    private final class Proxy {
        private let server: PythonServer

        init() async throws {
            server = try await PythonServer("proxy")
        }

        var folder: ScratchFolder { server.folder }
        var url: String { "http://127.0.0.1:\(server.port)" }
        var seen: [String] { folder.text(of: "seen").split(separator: "\n").map(String.init) }
    }

    private func with(
        tls: Bool, _ settings: (Proxy) -> String, environment: (Proxy) -> [String: String] = { _ in [:] },
        _ body: (FakeLogz, Proxy, DaemonFixture, RawClient, _ address: String) async throws -> Void
    ) async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let front = tls ? try await TLSFront(before: listener.port) : nil
        let proxy = try await Proxy()
        let address = "127.0.0.1:\(front?.port ?? "\(listener.port)")"
        var configuration = DaemonConfiguration(
            """
            [Forward]
            BatchDelay=0
            CriticalDelay=0
            [LogzIO]
            URL=\(tls ? "https" : "http")://\(address)
            Credential=TOKENFILE
            \(front.map { "CAFile=\($0.caFile)" } ?? "")
            \(settings(proxy))
            """)
        configuration.environment = environment(proxy)
        try await DaemonFixture.with(configuration) { daemon in
            try await body(listener, proxy, daemon, try RawClient(path: daemon.socket), address)
        }
    }

    private func delivers(_ listener: FakeLogz, _ client: RawClient) async throws {
        let ids = try client.report("One", "Two “é”")
        try await eventually("the records have arrived") { try client.destination().ledger.delivered == 2 }
        #expect(listener.compare(with: ids).isMet)
        #expect(listener.stats.duplicates == 0)
    }

    @Test("With Proxy=, plain requests go to the proxy with an absolute URL")
    func plain() async throws {
        try await with(tls: false) {
            "Proxy=\($0.url)"
        } _: { listener, proxy, _, client, address in
            try await delivers(listener, client)
            #expect(Set(proxy.seen) == ["POST http://\(address)/"])
        }
    }

    @Test("With TLS, the proxy gets only CONNECT requests")
    func connect() async throws {
        try await with(tls: true) {
            "Proxy=\($0.url)"
        } _: { listener, proxy, daemon, client, address in
            try await delivers(listener, client)
            #expect(Set(proxy.seen) == ["CONNECT \(address)"])
            #expect(!daemon.log.contains(DaemonConfiguration.token))
        }
    }

    @Test(
        "The proxy in https_proxy, HTTPS_PROXY or http_proxy is used",
        arguments: [(true, "https_proxy"), (true, "HTTPS_PROXY"), (false, "http_proxy")])
    func environment(tls: Bool, name: String) async throws {
        try await with(tls: tls) { _ in
            ""
        } environment: {
            [name: $0.url]
        } _: { listener, proxy, _, client, address in
            try await delivers(listener, client)
            #expect(proxy.seen.allSatisfy { $0 == (tls ? "CONNECT \(address)" : "POST http://\(address)/") })
            #expect(!proxy.seen.isEmpty)
        }
    }

    @Test("No proxy is used for a host in no_proxy")
    func excepted() async throws {
        try await with(tls: false) { _ in
            ""
        } environment: {
            ["http_proxy": $0.url, "no_proxy": "127.0.0.1"]
        } _: { listener, proxy, _, client, _ in
            try await delivers(listener, client)
            #expect(proxy.seen.isEmpty)
        }
    }

    @Test("The status says that the proxy, not the destination, needs a password or is unreachable")
    func named() async throws {
        try await with(tls: false) {
            "Proxy=\($0.url)"
        } _: { listener, proxy, daemon, client, address in
            try proxy.folder.write("407", to: "refuse")
            let ids = try client.report("Kept")
            try await eventually("the reason is shown") { try client.destination().reason == "proxy_refuses" }
            #expect(try client.destination().lastAnswer?.hasPrefix("407 from the proxy for \(address)") == true)
            #expect(try client.destination().advice?.contains("Proxy=") == true)
            try proxy.folder.remove("refuse")
            try daemon.reload()
            try await eventually("the record has arrived") {
                try RawClient(path: daemon.socket).destination().ledger.delivered == 1
            }
            #expect(listener.compare(with: ids).isMet)
        }
        try await with(tls: false) { _ in
            ""
        } environment: { _ in
            ["http_proxy": "http://user:secret@127.0.0.1:1"]
        } _: { _, _, daemon, client, address in
            _ = try client.report("Kept")
            let reason = "Could not connect to the proxy 127.0.0.1:1 for \(address): Connection refused"
            try await eventually("the reason is shown") { try client.destination().lastAnswer == reason }
            #expect(!daemon.log.contains("secret"))
        }
    }

    @Test("A proxy that needs a password pauses a destination with TLS, too")
    func passwordForTunnel() async throws {
        try await with(tls: true) {
            "Proxy=\($0.url)"
        } _: { _, proxy, _, client, address in
            try proxy.folder.write("407", to: "refuse")
            _ = try client.report("Kept")
            try await eventually("the reason is shown") { try client.destination().reason == "proxy_refuses" }
            #expect(
                try client.destination().lastAnswer
                    == "The proxy \(proxy.url.dropFirst(7)) returned 407 for \(address)")
            #expect(try client.destination().advice?.contains("https_proxy=") == true)
            #expect(try client.destination().ledger.pending == 1)
        }
    }

    @Test("If a proxy refuses the tunnel, the status names the proxy, and no record is lost")
    func refused() async throws {
        try await with(tls: true) {
            "Proxy=\($0.url)"
        } _: { listener, proxy, _, client, address in
            try proxy.folder.write("403", to: "refuse")
            let ids = try client.report("Kept")
            try await eventually("the reason is shown") {
                try client.destination().lastAnswer
                    == "The proxy \(proxy.url.dropFirst(7)) returned 403 for \(address)"
            }
            #expect(listener.requests.isEmpty)
            #expect(try client.destination().ledger.pending == 1)
            try proxy.folder.remove("refuse")
            try await eventually("the record has arrived") {
                try client.destination().ledger.delivered == 1
            }
            #expect(listener.compare(with: ids).isMet)
        }
    }
}
