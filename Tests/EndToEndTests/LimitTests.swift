import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Limits for senders", .daemonLog)
struct LimitTests {
    @Test("A message above the limit is answered with TooLarge, and the connection is closed")
    func tooLarge() async throws {
        try await DaemonFixture.with("[Socket]\nMaxMessageSize=8K\nMaxRecordSize=4K") { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Before")
            try client.begin(
                .report, ReportParameters(records: [IssueRecord(message: String(repeating: "x", count: 9000))]))
            #expect(CollectorError(try client.reply()) == .tooLarge(limit: 8192))
            #expect(try client.isClosed())
            // Other clients are not affected, and earlier reports are stored.
            try await eventually("the status has the records") {
                try RawClient(path: daemon.socket).status().received == 1
            }
        }
    }

    @Test("An endless message is rejected at the limit")
    func endless() async throws {
        try await DaemonFixture.with("[Socket]\nMaxMessageSize=64K\nMaxRecordSize=4K") { daemon in
            let client = try RawClient(path: daemon.socket)
            try? client.send([UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20))
            #expect(CollectorError(try client.reply()) == .tooLarge(limit: 65_536))
            #expect(try client.isClosed())
        }
    }

    @Test(
        "A message that is not a call is answered with an error, and the connection is closed",
        arguments: [
            "no json at all", "[1,2]", "{\"parameters\":{}}", "{\"method\":7}", "{\"method\":\"a.b\"", "\u{FEFF}{}",
        ])
    func malformed(message: String) async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            try client.send(message + "\0")
            #expect(try client.reply().error == "org.varlink.service.InvalidParameter")
            #expect(try client.isClosed())
        }
    }

    @Test("A connection with a partial message is closed after ReadTimeout=, and an idle connection stays open")
    func readTimeout() async throws {
        try await DaemonFixture.with("[Socket]\nReadTimeout=300ms") { daemon in
            let quiet = try RawClient(path: daemon.socket)
            let halting = try RawClient(path: daemon.socket)
            try halting.send("{\"method\":")
            #expect(try halting.isClosed(within: .seconds(10)))
            #expect(try quiet.report("Still here").count == 1)
        }
    }

    @Test("Of the records in a call, only one that is nested too deeply, has too many keys or is too large is rejected")
    func recordLimits() async throws {
        try await DaemonFixture.with("[Socket]\nMaxRecordSize=4K\nMaxDepth=8\nMaxKeys=20") { daemon in
            let client = try RawClient(path: daemon.socket)
            let deep = String(repeating: "[", count: 20) + String(repeating: "]", count: 20)
            let many = (0..<40).map { "\"k\($0)\":1" }.joined(separator: ",")
            let long = String(repeating: "y", count: 5000)
            for metadata in ["{\"a\":\(deep)}", "{\(many)}", "{\"a\":\"\(long)\"}"] {
                let reply = try client.call(
                    "org.issued.Collector.Report",
                    #"{"records":[{"message":"good"},{"message":"bad","metadata":\#(metadata)},{"message":"fine"}]}"#)
                let receipts = try ReportReply(json: reply.parameters).receipts
                try #require(receipts.count == 3, "\(reply)")
                #expect(throws: Never.self) { try receipts[0].storedID }
                guard case .rejected = receipts[1] else {
                    Issue.record("\(receipts[1]) for \(metadata.prefix(40))")
                    continue
                }
                #expect(throws: Never.self) { try receipts[2].storedID }
            }
        }
    }

    @Test("A record with 250 nested arrays, which MaxDepth=256 allows, is queried and forwarded whole")
    func deepRecord() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        try await DaemonFixture.with(.forwarding(to: listener, "[Socket]\nMaxDepth=256")) { daemon in
            let client = try RawClient(path: daemon.socket)
            let deep = String(repeating: "[", count: 250) + #""bottom""# + String(repeating: "]", count: 250)
            let metadata = #"{"a":\#(deep)}"#
            let reply = try client.call(
                "org.issued.Collector.Report", #"{"records":[{"message":"Deep","metadata":\#(metadata)}]}"#)
            let id = try #require(try ReportReply(json: reply.parameters).receipts.first?.storedID)
            let details = try client.call("org.issued.Collector.Show", #"{"id":"\#(id)"}"#)
            #expect(String(decoding: details.parameters, as: UTF8.self).contains(metadata))
            #expect(try daemon.issuectl(["show", id, "--json"]).output.contains("bottom"))
            try await eventually("the record is forwarded") {
                listener.accepted.contains { $0.text.contains("bottom") }
            }
        }
    }

    @Test("A connection above the maximum gets an error and is closed; after another one closes, a new one is accepted")
    func connections() async throws {
        try await DaemonFixture.with("[Socket]\nMaxConnections=3\nMaxConnectionsPerUser=3") { daemon in
            var clients = try (1...3).map { _ in try RawClient(path: daemon.socket) }
            for client in clients { _ = try client.status() }
            let refused = try RawClient(path: daemon.socket)
            guard case .busy = CollectorError(try refused.reply()) else {
                Issue.record("The fourth connection was not refused")
                return
            }
            #expect(try refused.isClosed())
            clients.removeLast()
            try await eventually("a connection is accepted again") {
                let client = try RawClient(path: daemon.socket)
                return (try? client.status()) != nil
            }
        }
    }

    @Test("A client that does not read its replies does not block others")
    func slowReader() async throws {
        try await DaemonFixture.with { daemon in
            let slow = try RawClient(path: daemon.socket)
            for _ in 1...3 {
                let records = (0..<200).map { IssueRecord(message: "Row \($0) " + String(repeating: "z", count: 500)) }
                _ = try slow.report(records)
            }
            for _ in 1...20 { try slow.begin(.records, RecordsParameters(limit: 500), more: true) }
            let other = try RawClient(path: daemon.socket)
            for number in 1...20 { _ = try other.report("Meanwhile \(number)") }
            try await eventually("the status has the records") { try other.status().received == 620 }
        }
    }

    @Test("An invalid call is answered with the specific error, and the connection stays open")
    func errors() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let cases = [
                ("org.issued.Collector.Nothing", "{}", "org.varlink.service.MethodNotFound"),
                ("org.elsewhere.Thing.Do", "{}", "org.varlink.service.InterfaceNotFound"),
                ("org.issued.Collector.SplitGroup", "{}", "org.varlink.service.InvalidParameter"),
                ("org.issued.Collector.Report", "{}", "org.varlink.service.InvalidParameter"),
                ("org.issued.Collector.Report", #"{"records":7}"#, "org.varlink.service.InvalidParameter"),
                ("org.issued.Collector.Report", #"{"records":[]}"#, "org.issued.Collector.InvalidRecord"),
                ("org.issued.Collector.Show", "{}", "org.varlink.service.InvalidParameter"),
                ("org.issued.Collector.Show", #"{"id":"nonsense"}"#, "org.issued.Collector.NotFound"),
                ("org.issued.Collector.List", #"{"limit":"ten"}"#, "org.varlink.service.InvalidParameter"),
                ("org.issued.Collector.List", #"{"filter":{"severity":"dire"}}"#, "org.issued.Collector.InvalidFilter"),
                ("org.issued.Collector.Records", #"{"follow":true}"#, "org.varlink.service.ExpectedMore"),
                ("org.issued.Collector.Flush", #"{"destination":"nowhere"}"#, "org.issued.Collector.NotFound"),
            ]
            for (method, parameters, error) in cases {
                #expect(try client.call(method, parameters).error == error, "\(method) \(parameters)")
            }
            #expect(try client.report("All is well").count == 1)
        }
    }
}
