import IssueCore
import IssueProtocol
import Issues
import IssuesRedacting
import Synchronization
import Testing

@Suite("The daemon's rules in the client")
struct BuiltInRulesTests {
    private final class Sink: IssueSink {
        private let stored = Mutex<[IssueReport]>([])

        var reports: [IssueReport] { stored.withLock { $0 } }

        func receive(_ report: IssueReport) { stored.withLock { $0.append(report) } }
    }

    private func reports(_ rules: [IssueRedaction], _ body: () -> Void) -> [IssueReport] {
        let sink = Sink()
        withIssueReporters([sink], operation: body)
        return sink.reports.map { $0.redacted(by: rules) }
    }

    @Test("Secrets are replaced in the message and in metadata")
    func secrets() throws {
        let (host, password) = ("db1", "Tr0ub4dor&3")
        let report = try #require(
            reports([.secrets()]) {
                reportIssue(
                    "cannot connect to \(host) with password=\(password)",
                    metadata: ["api_key": "0123456789abcdef", "tries": 3, "request": ["headers": ["Cookie": "a=b1c2"]]])
            }.first)
        #expect(report.message == "cannot connect to db1 with password=[@password]")
        #expect(report.template == "cannot connect to {} with password={}")
        #expect(
            report.metadata == ["api_key": "[@apikey]", "tries": 3, "request": ["headers": ["Cookie": "[@cookie]"]]])
    }

    @Test("Addresses are replaced by a rule of their own")
    func addresses() throws {
        let text = "no route to 192.0.2.7 for ann@example.net"
        #expect(reports([.secrets()]) { reportIssue(text) }.map(\.message) == [text])
        #expect(reports([.addresses]) { reportIssue(text) }.map(\.message) == ["no route to [@ip] for [@email]"])
    }

    @Test("Names of secrets can be added, and others can be exempted")
    func names() {
        let rule = IssueRedaction.secrets(named: ["badge"], except: ["push_token"])
        let reports = reports([rule]) {
            reportIssue("badge=4711 is unknown", metadata: ["push_token": "a1b2c3d4e5f6", "Badge": 4711])
        }
        #expect(reports.map(\.message) == ["badge=[@secret] is unknown"])
        #expect(reports.map(\.metadata) == [["push_token": "a1b2c3d4e5f6", "Badge": "[@secret]"]])
    }

    @Test(
        "A message that the client has redacted gets the same template as one that only the daemon redacts",
        arguments: [
            "login with password=Tr0ub4dor&3 failed", "no answer from https://ann:pw1x@example.net/",
            "card 4111 1111 1111 1111 refused", "mail to ann@example.net bounced",
        ])
    func groups(text: String) throws {
        func template(_ text: String, _ redactor: Redactor) throws -> String {
            var decoder = RecordDecoder(limits: RecordLimits(), seed: 1, redactor: redactor)
            var batch = RecordBatch()
            let json = Array("{\"message\":\(String(decoding: JSONValue.string(text).json, as: UTF8.self))}".utf8)
            var scanner = JSONScanner(json.span)
            try #require(try decoder.decode(&scanner, into: &batch) == nil)
            return try #require(SeriesKey.decode(batch.seriesKey(of: batch.records[0]))).template.description
        }
        let masked = try #require(reports([.secrets(), .addresses]) { reportIssue("\(text)" as String) }.first).message
        #expect(masked != text)
        var settings = RedactionSettings()
        settings[.email] = .mask
        #expect(try template(masked, Redactor(settings)) == template(text, Redactor(settings)))
    }

    @Test("Deeply nested metadata is redacted, and numbers of any size stay the same")
    func unchanged() throws {
        var value: IssueMetadata.Value = ["password": "hunter2"]
        for _ in 0..<200 { value = [value] }
        let report = try #require(
            reports([.secrets()]) { reportIssue("m", metadata: ["deep": value, "big": .init(UInt64.max)]) }.first)
        #expect(report.metadata["big"]?.description == "18446744073709551615")
        #expect(report.metadata["deep"]?.description.contains("[@password]") == true)
    }
}
