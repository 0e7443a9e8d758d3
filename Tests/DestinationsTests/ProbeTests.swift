import FakeLogz
import Foundation
import HTTPTransfer
import IssueCore
import IssueProtocol
import Testing

@testable import Destinations

@Suite("Testing a destination")
struct ProbeTests {
    private static let token = ShippingToken(Array("MARKED-TOKEN".utf8))

    private func settings(_ url: String) throws -> HTTPSettings {
        var settings = HTTPSettings(address: try #require(HTTPAddress(url: url)))
        settings.proxy = ""
        return settings
    }

    private func response(_ status: Int, _ headers: HTTPHeaders = [:], _ body: String = "") -> HTTPResponse {
        HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
    }

    @Test("A probe shows whether Logz.io accepts the token, and no line is stored")
    func logz() throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: ["MARKED-TOKEN"]))
        defer { listener.stop() }
        let format = LogzFormat(try settings("http://127.0.0.1:\(listener.port)/"))
        let right = format.probe(token: Self.token) { moment }
        #expect(right.isAccepted && right.advice == nil)
        #expect(listener.accepted.isEmpty && listener.requests.count == 1)
        let wrong = format.probe(token: ShippingToken(Array("other".utf8))) { moment }
        #expect(!wrong.isAccepted && wrong.message.hasPrefix("401 from 127.0.0.1"))
        #expect(wrong.advice == LogzFormat.advice(on: .unauthorised))
        #expect(!wrong.message.contains("other"))
    }

    @Test("A server that is not reachable is named, without advice about the credential")
    func unreachable() throws {
        let probe = LogzFormat(try settings("http://127.0.0.1:9/")).probe(token: Self.token) { moment }
        #expect(!probe.isAccepted && probe.advice == nil)
        #expect(probe.message.contains("127.0.0.1:9"))
    }

    /// A response, and whether it shows that the destination would accept records.
    struct Answer: Sendable {
        var (kind, status, headers, body): (String, Int, HTTPHeaders, String)
        var isAccepted: Bool

        init(_ kind: String, _ status: Int, _ headers: HTTPHeaders, _ body: String, _ isAccepted: Bool) {
            (self.kind, self.status, self.headers, self.body) = (kind, status, headers, body)
            self.isAccepted = isAccepted
        }
    }

    private static let answers = [
        Answer("logzio", 400, [:], #"{"emptyLogLines":1}"#, true),
        Answer("logzio", 403, [:], "", false),
        Answer("logzio", 302, [:], "", false),
        Answer("clickhouse", 200, ["X-ClickHouse-Summary": "{}"], "", true),
        Answer("clickhouse", 200, [:], "It works!", false),
        Answer("clickhouse", 500, ["X-ClickHouse-Exception-Code": "108"], "", true),
        Answer("clickhouse", 404, ["X-ClickHouse-Exception-Code": "16"], "", false),
        Answer("elasticsearch", 400, [:], #"{"error":{"type":"action_request_validation_exception"}}"#, true),
        Answer("elasticsearch", 400, [:], "Bad Request", false),
        Answer("elasticsearch", 401, [:], #"{"error":{}}"#, false),
        Answer("otlp", 200, ["Content-Type": "application/json"], "{}", true),
        Answer("otlp", 200, ["Content-Type": "text/html"], "<p>", false),
        Answer("otlp", 404, [:], "", false),
    ]

    @Test("The response shows whether records would be accepted", arguments: answers)
    func responses(answer: Answer) throws {
        let formats: [any HTTPFormat.Type] = [
            LogzFormat.self, ClickHouseFormat.self, ElasticsearchFormat.self, OTLPFormat.self,
        ]
        let format = try #require(formats.first { $0.kind == answer.kind })
        let probe = format.probe(
            response(answer.status, answer.headers, answer.body), origin: "server:1", before: moment, now: moment)
        #expect(probe.isAccepted == answer.isAccepted, "\(probe.message)")
        #expect(probe.message.hasPrefix("\(answer.status)"))
    }

    @Test("The clock skew is how much the Date header is earlier than the request or later than the response")
    func clock() throws {
        func skew(_ date: String?, took seconds: Int64 = 0) throws -> Int64? {
            let before = try #require(IssueTimestamp("2026-11-21T10:00:00.500Z"))
            let headers: HTTPHeaders = date.map { ["Date": $0] } ?? [:]
            return LogzFormat.probe(
                response(200, headers), origin: "s", before: before, now: before.advanced(by: .seconds(seconds))
            ).clockSkew?.components.seconds
        }
        #expect(try skew(nil) == nil)
        #expect(try skew("Sat, 21 Nov 2026 10:00:00 GMT") == 0)
        #expect(try skew("Sat, 21 Nov 2026 10:00:05 GMT", took: 6) == 0)
        #expect(try skew("Sat, 21 Nov 2026 10:10:01 GMT") == 600)
        #expect(try skew("Sat, 21 Nov 2026 09:49:59 GMT") == -600)
        #expect(DestinationProbe(isAccepted: true, message: "", clockSkew: .seconds(-61)).hasClockSkew)
        #expect(!DestinationProbe(isAccepted: true, message: "", clockSkew: .seconds(60)).hasClockSkew)
    }

    @Test("The columns that ClickHouse is asked for are in the schema that is shipped")
    func columns() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let schema = try String(contentsOf: root.appending(path: "config/clickhouse/schema.sql"), encoding: .utf8)
        let table = try #require(schema.components(separatedBy: ") ENGINE").first)
        let lines = table.split(separator: "\n").map { $0.drop { $0 == " " } }
        #expect(ClickHouseFormat.columns.count > 30)
        for column in ClickHouseFormat.columns {
            #expect(lines.contains { $0.hasPrefix("\(column) ") }, "\(column)")
        }
    }
}
