import IssueProtocol
import IssueTestSupport
import Testing

@Suite("The socket for metrics", .daemonLog)
struct MetricsSocketTests {

    /// Calls a method of `io.systemd.Metrics` and returns all replies.
    private func replies(_ method: MetricsMethod, to client: RawClient) throws -> [JSONValue] {
        try client.send(VarlinkCall(method: method.fullName, more: true).message)
        var replies: [JSONValue] = []
        while true {
            let reply = try client.reply()
            #expect(reply.error == nil)
            replies.append(try JSONValue(json: reply.parameters))
            guard reply.continues else { return replies }
        }
    }

    @Test(
        "Of two inherited sockets, the one named issued-metrics serves the metrics and the other one serves reports",
        .enabled(if: TestBinaries.socketActivator != nil, "there is no systemd-socket-activate"))
    func secondSocket() async throws {
        let activator = try #require(TestBinaries.socketActivator)
        try await DaemonFixture.with(starts: false) { daemon in
            let (main, metrics) = (daemon.folder["activated.sock"], daemon.folder["org.issued.Collector"])
            // In this order, the daemon must tell the sockets apart by their names.
            try daemon.launch(
                through: [
                    activator, "--listen", metrics, "--listen", main, "--fdname", "issued-metrics:issued",
                    "--setenv", "NOTIFY_SOCKET=\(daemon.notifications.path)",
                ])
            try await eventually("the socket exists") { (try? RawClient(path: main)) != nil }
            try daemon.waitUntilReady()
            #expect(try RawClient(path: main).report("The first of all").count == 1)

            let values = try replies(.list, to: RawClient(path: metrics))
            func value(_ name: String) -> Int64? {
                values.first { $0["name"]?.asString == "org.issued.Collector.\(name)" }?["value"]?.asInteger
            }
            #expect(value("RecordsReceived") == 1 && value("StoreRecords") == 1)
            #expect(value("HealthStatus") == 0)
            let families = try replies(.describe, to: RawClient(path: metrics))
            #expect(families.count == MetricFamily.all.count)
            // The main socket has the same interface, so that varlinkctl finds it there, too.
            #expect(try replies(.list, to: RawClient(path: main)).count == values.count)
            #expect(try daemon.terminate() == .exit(0))
        }
    }

    @Test("A call for metrics is refused if it has no flag `more`, or if it has a parameter")
    func manners() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            try client.send(VarlinkCall(method: MetricsMethod.list.fullName).message)
            #expect(CollectorError(try client.reply()) == .expectedMore)
            let parameters = Array(#"{"filter":"x"}"#.utf8)
            try client.send(
                VarlinkCall(method: MetricsMethod.describe.fullName, parameters: parameters, more: true).message)
            #expect(CollectorError(try client.reply()) == .invalidParameter("filter"))
        }
    }

    @Test(
        "Users who may not see all records get only the metrics Up, BuildInfo and StartTimeSeconds",
        .enabled(if: OtherUser.obstacle == nil, "needs root"))
    func rights() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Hidden from others")
            let client = try OtherUser.client(4242, of: daemon)
            let names = try replies(.list, to: client).map { $0["name"]?.asString ?? "" }
            #expect(names == ["Up", "BuildInfo", "StartTimeSeconds"].map { "org.issued.Collector.\($0)" })
        }
    }
}
