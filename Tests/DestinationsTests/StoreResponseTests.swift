import FakeLogz
import IssueCore
import IssueProtocol
import Testing

@testable import Destinations

/// The responses of self-hosted stores, sent by ``FakeLogz`` over HTTP.
@Suite("Responses of self-hosted stores")
struct StoreResponseTests {
    /// Sends two records to a listener that responds with a status and a body. Returns the verdict and the summary.
    private func result<Format: HTTPFormat>(
        _ format: Format.Type, _ status: Int, _ body: String, _ headers: [HTTPField] = [], throughProxy: Bool = false
    ) throws -> DeliveryResult {
        let listener = try FakeLogz(
            FakeLogzOptions(plan: [FaultStep(.status(status, headers: headers, body: body), times: .forever)]))
        defer { listener.stop() }
        let address = "http://127.0.0.1:\(listener.port)/"
        var settings = HTTPSettings(
            address: try #require(HTTPAddress(url: throughProxy ? "http://store.invalid:9200/" : address)))
        settings.proxy = throughProxy ? String(address.dropLast()) : ""
        var shipper = HTTPShipper(
            Format(settings, ["Database": "issued", "Table": "records"]), credential: Credential(nil)
        ) { moment }
        let lines = shipper.prepare()
        for record in [Samples.full, Samples.minimal] {
            var types = FieldTypes()
            lines.add(shipper.line(of: record, types: &types))
        }
        var result = shipper.send(lines, within: nil)
        #expect(listener.requests.count == 1)
        result.summary = ResponseSummary(
            result.summary.text.replacing("127.0.0.1:\(listener.port)", with: "LISTENER"))
        return result
    }

    /// Returns the body of a `_bulk` response. Each item has a status and, unless `error` is empty, a type of error.
    private func bulk(_ items: (status: Int, error: String)...) -> String {
        let list = items.map { item in
            let error = item.error.isEmpty ? "" : #","error":{"type":"\#(item.error)"}"#
            return #"{"create":{"status":\#(item.status)\#(error)}}"#
        }
        return #"{"errors":true,"items":[\#(list.joined(separator: ","))]}"#
    }

    // MARK: Elasticsearch

    @Test(
        "Elasticsearch: an error that concerns the index or the user pauses the destination",
        arguments: [
            (403, "security_exception", PauseReason.forbidden), (403, "cluster_block_exception", .forbidden),
            (401, "security_exception", .unauthorised), (404, "index_not_found_exception", .notFound),
            (400, "index_closed_exception", .notFound), (400, "invalid_index_name_exception", .notFound),
        ])
    func index(status: Int, error: String, reason: PauseReason) throws {
        let expected = DeliveryResult(.paused(reason), ResponseSummary("200: \(status) \(error)"))
        // It does not matter whether the other document was stored, already existed, or was rejected itself.
        for other in [(status, error), (201, ""), (409, ""), (400, "mapper_parsing_exception")] {
            #expect(try result(ElasticsearchFormat.self, 200, bulk(other, (status, error))) == expected)
        }
        #expect(ElasticsearchFormat.advice(on: .notFound).contains("Index="))
        #expect(ElasticsearchFormat.advice(on: .forbidden).contains("disk"))
    }

    @Test(
        "Elasticsearch: a temporary error of a document has the same effect as a response with the same status",
        arguments: [
            (429, "es_rejected_execution_exception", FailureClass.tooManyRequests),
            (429, "cluster_block_exception", .tooManyRequests), (503, "unavailable_shards_exception", .overloaded),
            (500, "", .serverError),
        ])
    func busy(status: Int, error: String, failure: FailureClass) throws {
        let answer = try result(ElasticsearchFormat.self, 200, bulk((403, "security_exception"), (status, error)))
        #expect(answer.verdict == .again(failure, retryAfter: nil))
        #expect(answer.summary.text == "200: \(status)\(error.isEmpty ? "" : " \(error)")")
    }

    @Test("Elasticsearch: a document that does not fit the mapping is rejected, and the other one is delivered")
    func mapping() throws {
        let answer = try result(ElasticsearchFormat.self, 200, bulk((201, ""), (400, "mapper_parsing_exception")))
        #expect(answer.verdict == .partial(PartialAnswer(successful: 1, invalidLines: [1])))
    }

    @Test(
        "Elasticsearch: a 200 without a list of items comes from another server",
        arguments: ["<html>Welcome</html>", "", "OK", "{}", "[]", "<html>" + String(repeating: "x", count: 100_000)])
    func otherServer(body: String) throws {
        let answer = try result(ElasticsearchFormat.self, 200, body)
        #expect(answer.verdict == .paused(.notFound))
        #expect(answer.summary.text == "200: not a response from Elasticsearch or OpenSearch")
    }

    @Test("Elasticsearch: a response with too few items, or that is too long, does not show what was stored")
    func incomplete() throws {
        let short = try result(ElasticsearchFormat.self, 200, bulk((201, "")))
        #expect(short.verdict == .ambiguous(.noAnswer))
        let long = try result(
            ElasticsearchFormat.self, 200, bulk((201, String(repeating: "x", count: 100_000)), (201, "")))
        #expect(long.verdict == .ambiguous(.noAnswer))
        #expect(long.summary.text == "200: the response is too large")
    }

    // MARK: ClickHouse

    private static let ofClickHouse = [HTTPField("X-ClickHouse-Summary", #"{"written_rows":"2"}"#)]

    @Test(
        "ClickHouse: an exception in the body of a 200 is recognised and determines the verdict",
        arguments: [
            "Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)",
            "Code: 241, e.displayText() = DB::Exception: Memory limit exceeded",
            "\r\n__exception__\r\nabcdefgh\r\nCode: 241. DB::Exception: Memory limit\r\n39 abcdefgh\r\n__exception__",
        ])
    func exception(body: String) throws {
        let answer = try result(ClickHouseFormat.self, 200, body, Self.ofClickHouse)
        #expect(answer.verdict == .again(.overloaded, retryAfter: nil))
        #expect(answer.summary.text == "200: ClickHouse exception 241")
    }

    @Test("ClickHouse: a 200 without an exception means delivered, unless another server sent it")
    func noException() throws {
        #expect(try result(ClickHouseFormat.self, 200, "", Self.ofClickHouse).verdict == .accepted)
        for body in ["", "Code: 241. DB::Exception", "<p>Code: 7"] {
            #expect(try result(ClickHouseFormat.self, 200, body).verdict == .paused(.notFound))
        }
    }

    // MARK: OTLP

    @Test("OTLP: after a partial success, nothing is sent again, even if all records were rejected")
    func partialSuccess() throws {
        func verdict(_ rejected: Int) throws -> DeliveryVerdict {
            try result(OTLPFormat.self, 200, #"{"partialSuccess":{"rejectedLogRecords":"\#(rejected)"}}"#).verdict
        }
        #expect(try verdict(0) == .accepted)
        #expect(try verdict(1) == .unconfirmed)
        let all = PartialAnswer(successful: 0, invalidLines: [0, 1], isFinal: true)
        #expect(try verdict(2) == .partial(all))
    }

    @Test("OTLP: the advice after a 415 names the format and the compression")
    func mediaType() throws {
        #expect(try result(OTLPFormat.self, 415, "").verdict == .paused(.methodNotAllowed))
        let advice = OTLPFormat.advice(on: .methodNotAllowed)
        #expect(advice.contains("JSON") && advice.contains("Compression=no"))
    }

    // MARK: Proxies

    @Test("A 407 of the proxy pauses the destination, with TLS as well as without")
    func proxyAuthentication() throws {
        let plan = [FaultStep(.status(407), times: .forever)]
        let listener = try FakeLogz(FakeLogzOptions(plan: plan))
        defer { listener.stop() }
        for scheme in HTTPAddress.Scheme.allCases {
            var settings = HTTPSettings(address: HTTPAddress(scheme: scheme, host: "store.invalid", port: 9200))
            settings.proxy = "http://127.0.0.1:\(listener.port)"
            var shipper = HTTPShipper(ElasticsearchFormat(settings, [:]), credential: Credential(nil)) { moment }
            let result = shipper.send(shipper.prepare(), within: nil)
            #expect(result.verdict == .paused(.proxyRefuses), "\(scheme)")
            #expect(result.summary.text.contains("407"))
            let probe = ElasticsearchFormat(settings, [:]).probe(token: nil) { moment }
            #expect(probe.advice == PauseReason.proxyRefuses.advice)
        }
        #expect(PauseReason.proxyRefuses.advice.contains("https_proxy="))
        #expect(listener.requests.map(\.method) == ["POST", "POST", "CONNECT", "CONNECT"])
    }

    @Test("The response to a plain request through a proxy may be that of the proxy, so the summary names the proxy")
    func proxy() throws {
        for status in [403, 502] {
            #expect(
                try result(ElasticsearchFormat.self, status, "", throughProxy: true).summary.text
                    == "\(status) from store.invalid:9200 or the proxy LISTENER")
            #expect(try result(ElasticsearchFormat.self, status, "").summary.text == "\(status) from LISTENER")
        }
        for advice in [
            ElasticsearchFormat.advice(on: .forbidden), ClickHouseFormat.advice(on: .forbidden),
            OTLPFormat.advice(on: .forbidden), LogzFormat.advice(on: .forbidden),
        ] {
            #expect(advice.contains("proxy"))
        }
    }
}
