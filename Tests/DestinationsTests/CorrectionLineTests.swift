import Foundation
import IssueCore
import IssueProtocol
import Testing

@testable import Destinations

@Suite("Lines of corrections")
struct CorrectionLineTests {
    private let http = HTTPSettings(address: HTTPAddress(.us))

    private func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }

    @Test("Elasticsearch gets a document with the id of the event and both issues")
    func elasticsearch() {
        let format = ElasticsearchFormat(http, ["Index": "issued"])
        #expect(
            text(format.line(of: Samples.correction)) == """
                {"create":{"_index":"issued","_id":"c-0f1e2d3c4b5a6978"}}
                {"@timestamp":"2026-11-21T10:00:00.123Z","event_kind":"correction","event_id":"c-0f1e2d3c4b5a6978",\
                "app":"checkout","uid":1001,"host":"web-3","severity":"info",\
                "message":"Correction 7: g0b5c7d1e2f3a4b5c was merged into g92c9da597585468b",\
                "fingerprint":"9a41c07e55b2d310","group_id":"g92c9da597585468b","correction":7,\
                "correction_action":"merge","other_group_id":"g0b5c7d1e2f3a4b5c","other_fingerprint":"0c2f4a6e8b1d3f57",\
                "correction_author":1000,"correction_reason":"same \\"cause\\""}
                """)
    }

    @Test("ClickHouse gets a row with the usual columns: the details of the correction are in the metadata")
    func clickHouse() throws {
        let format = ClickHouseFormat(http, ["Database": "issued", "Table": "records"])
        #expect(
            text(format.line(of: Samples.undoneSplit)) == #"""
                {"time":1795255200,"time_ms":1795255200123,"received_ms":1795255200123,"event_kind":"correction",\#
                "event_id":"c-0f1e2d3c4b5a6978","app":"checkout","uid":1001,"host":"web-3","severity":"info",\#
                "message":"Correction 7 was undone: g92c9da597585468b was split from g0b5c7d1e2f3a4b5c",\#
                "fingerprint":"9a41c07e55b2d310","group_id":"g92c9da597585468b",\#
                "metadata":"{\"correction\":7,\"correction_action\":\"undo\",\"correction_undone\":\"split\",\#
                \"other_group_id\":\"g0b5c7d1e2f3a4b5c\",\"other_fingerprint\":\"0c2f4a6e8b1d3f57\",\#
                \"correction_template\":\"com.example.Timeout\",\"correction_field\":\"domain\",\#
                \"correction_author\":1000}"}
                """#)
        for correction in [Samples.correction, Samples.undoneSplit, Samples.rule] {
            let row = try #require(try JSONValue(json: format.line(of: correction)).asObject)
            #expect(Set(row.map(\.key)).isSubset(of: Set(ClickHouseFormat.columns)))
        }
    }

    @Test("An OTLP receiver gets a log record of the application, with the details of the correction as attributes")
    func otlp() throws {
        let format = OTLPFormat(http, [:])
        let line = try JSONValue(json: format.line(of: Samples.rule))
        let resource = try #require(line["resource"]?["attributes"]?.asArray)
        #expect(resource.first?["value"]?["stringValue"] == "checkout")
        let log = try #require(line["scopeLogs"]?.asArray?.first?["logRecords"]?.asArray?.first)
        #expect(log["timeUnixNano"] == "1795255200123000000")
        #expect(log["severityText"] == "info")
        #expect(
            log["body"]?["stringValue"] == "Correction 7: a rule merges matching issues into g92c9da597585468b")
        let attributes = try #require(log["attributes"]?.asArray).map { attribute in
            let value = attribute["value"]
            return [attribute["key"]?.asString, value?["stringValue"]?.asString ?? value?["intValue"]?.asString]
        }
        #expect(
            attributes == [
                ["event.id", "c-0f1e2d3c4b5a6978"], ["issue.event_kind", "correction"], ["issue.uid", "1001"],
                ["issue.fingerprint", "9a41c07e55b2d310"], ["issue.group_id", "g92c9da597585468b"],
                ["issue.correction", "7"], ["issue.correction_action", "rule"],
                ["issue.correction_template", "Invalid user * from <address>"], ["issue.correction_author", "1000"],
                ["issue.correction_reason", "same \"cause\""],
            ])
    }
}
