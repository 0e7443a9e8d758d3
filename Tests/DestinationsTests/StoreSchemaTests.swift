import Foundation
import IssueCore
import IssueProtocol
import Testing

@testable import Destinations

/// The schemas that are shipped have a place for everything that is sent.
@Suite("Schemas of self-hosted stores")
struct StoreSchemaTests {
    private static let http = HTTPSettings(address: HTTPAddress(scheme: .https, host: "h", port: 443))

    /// Lines that together have all fields.
    private static func lines(_ format: some HTTPFormat) -> [[UInt8]] {
        var record = Samples.full
        record.own.record.context = IssueContext(
            traceID: "4bf92f3577b34da6a3ce929d0e0e4736", spanID: "00f067aa0ba902b7", requestID: "r", user: "anna")
        var types = FieldTypes()
        return [
            format.line(of: record, types: &types), format.line(of: Samples.summary),
            format.line(of: Samples.correction), format.line(of: Samples.undoneSplit),
        ]
    }

    private static func file(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The names of all columns that ClickHouse gets.
    private static func columns() throws -> Set<String> {
        let rows = try lines(ClickHouseFormat(http, [:])).map { try JSONValue(json: $0).asObject ?? [] }
        return Set(rows.joined().map(\.key))
    }

    @Test("ClickHouse: every member of a row is a known column, and the samples have all of them")
    func clickHouse() throws {
        #expect(try Self.columns() == Set(ClickHouseFormat.columns))
    }

    @Test("Elasticsearch: the index template maps exactly the members of a document, each with its type")
    func template() throws {
        let template = try JSONValue(json: try Self.file("config/elasticsearch/index-template.json"))
        let properties = try #require(template["template"]?["mappings"]?["properties"]?.asObject)
        let members = try Self.lines(ElasticsearchFormat(Self.http, [:])).flatMap { line in
            try JSONValue(json: Array(line.split(separator: UInt8(ascii: "\n"))[1])).asObject ?? []
        }
        #expect(Set(members.map(\.key)).subtracting(properties.map(\.key)) == [])
        #expect(Set(properties.map(\.key)).subtracting(members.map(\.key)) == [])
        for member in members {
            let type = properties.first { $0.key == member.key }?.value["type"]?.asString
            switch member.value {
            case .bool: #expect(type == "boolean", "\(member.key)")
            case .integer: #expect(type == "long", "\(member.key)")
            case .array: #expect(type == nil, "\(member.key)")
            case .object: #expect(type == "object", "\(member.key)")
            case .string, .number, .null: #expect(["keyword", "text", "date"].contains(type), "\(member.key)")
            }
        }
    }

    @Test("ClickHouse: a summary has the user, the group and the times of what was held back, as far as they are known")
    func summary() throws {
        let row = try JSONValue(json: ClickHouseFormat(Self.http, [:]).line(of: Samples.summary))
        #expect(row["uid"] == 1001)
        #expect(row["group_id"] == "g92c9da597585468b")
        #expect(
            row["metadata"]
                == .string(
                    #"{"window_start":"2026-11-21T10:00:00.123Z","first_seen":"2026-11-21T10:00:01.123Z","#
                        + #""last_seen":"2026-11-21T10:00:59.123Z"}"#))
        let several = try JSONValue(json: ClickHouseFormat(Self.http, [:]).line(of: Samples.summaryOfSeveral))
        #expect(several["uid"] == 1001 && several["group_id"] == nil)
    }

    @Test("Logz.io and OTLP get the same message of a summary, with its counts")
    func summaryMessage() throws {
        func messages(_ summary: OutboundSummary) throws -> [String?] {
            let line = try JSONValue(json: OTLPFormat(Self.http, [:]).line(of: summary))
            let log = line["scopeLogs"]?.asArray?.first?["logRecords"]?.asArray?.first
            let logz = try JSONValue(json: LogzFormat(Self.http, [:]).line(of: summary))
            return [log?["body"]?["stringValue"]?.asString, logz["message"]?.asString]
        }
        let one = "1,284 more of: Timed out after <n> ms"
        #expect(try messages(Samples.summary) == [one, one])
        var several = Samples.summaryOfSeveral
        several.title = "issues of checkout"
        let text = "1,234,567 more of 1,000 issues of checkout"
        #expect(try messages(several) == [text, text])
    }
}
