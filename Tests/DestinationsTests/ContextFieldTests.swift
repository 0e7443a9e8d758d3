import Destinations
import HTTPTransfer
import IssueCore
import IssueProtocol
import Testing

@Suite("Ids of the trace, the request and the user at destinations")
struct ContextFieldTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    private static var full: OutboundRecord {
        var record = Samples.full
        record.own.record.context = IssueContext(
            traceID: trace, spanID: span, requestID: "r-\"7\"", user: "anna\n")
        return record
    }

    private static let settings = HTTPSettings(address: HTTPAddress(.us))

    private func value(_ format: some HTTPFormat, _ record: OutboundRecord) throws -> JSONValue {
        var types = FieldTypes()
        let lines = format.line(of: record, types: &types).split(separator: UInt8(ascii: "\n"))
        return try parsed(Array(try #require(lines.last)))
    }

    @Test("Logz.io gets the ids as fields of the line; the metadata object cannot have the names of these fields")
    func logz() throws {
        let value = try value(LogzFormat(Self.settings), Self.full)
        #expect(value["trace_id"]?.asString == Self.trace)
        #expect(value["span_id"]?.asString == Self.span)
        #expect(value["request_id"] == "r-\"7\"")
        #expect(value["user_id"] == "anna\n")
        #expect(value["user"] == nil)
        let option = LogzFormat.options.first { $0.name == "MetadataKey" }
        for key in ["trace_id", "span_id", "request_id", "user_id"] {
            #expect(option?.accepts(key) == false, "\(key)")
            #expect(try self.value(LogzFormat(Self.settings), Samples.full)[key] == nil)
        }
    }

    @Test("The line for Logz.io has the ids of its own record, even if other parts are shared by the series")
    func shared() throws {
        let memory = SharedLineTests.Memory()
        var types = FieldTypes()
        for user in ["a", nil, "b"] {
            var record = Samples.full
            record.own.record.context.user = user
            memory.take(from: &record)
            let line = try parsed(Golden.payload.line(of: record, types: &types))
            #expect(line["user_id"]?.asString == user)
        }
    }

    @Test("At every destination, each id has a field; at Logz.io, the metadata object cannot have the field's name")
    func everyField() throws {
        var record = Samples.full
        for field in IssueContext.Field.allCases { record.own.record.context[field] = "an-\(field.key)" }
        let option = LogzFormat.options.first { $0.name == "MetadataKey" }
        let lines = [
            try value(LogzFormat(Self.settings), record), try value(ClickHouseFormat(Self.settings, [:]), record),
            try value(ElasticsearchFormat(Self.settings, [:]), record),
            try value(OTLPFormat(Self.settings, [:]), record),
        ].map { String(decoding: $0.json, as: UTF8.self) }
        for field in IssueContext.Field.allCases {
            #expect(lines.allSatisfy { $0.contains("\"an-\(field.key)\"") }, "\(field)")
            #expect(option?.accepts(field.columnName) == false, "\(field)")
        }
    }

    @Test("ClickHouse gets the ids as columns")
    func clickHouse() throws {
        let value = try value(ClickHouseFormat(Self.settings, [:]), Self.full)
        #expect(value["trace_id"]?.asString == Self.trace)
        #expect(value["span_id"]?.asString == Self.span)
        #expect(value["request_id"] == "r-\"7\"")
        #expect(value["user_id"] == "anna\n")
        #expect(try self.value(ClickHouseFormat(Self.settings, [:]), Samples.full)["trace_id"] == nil)
    }

    @Test("Elasticsearch gets the ids under the names of the Elastic Common Schema")
    func search() throws {
        let value = try value(ElasticsearchFormat(Self.settings, [:]), Self.full)
        #expect(value["trace.id"]?.asString == Self.trace)
        #expect(value["span.id"]?.asString == Self.span)
        #expect(value["http.request.id"] == "r-\"7\"")
        #expect(value["user.id"] == "anna\n")
        let keys = try self.value(ElasticsearchFormat(Self.settings, [:]), Samples.full).asObject?.map(\.key) ?? []
        #expect(keys.allSatisfy { !$0.contains(".") })
    }

    // MARK: OTLP

    private func log(_ record: OutboundRecord) throws -> (record: JSONValue, attributes: [String: JSONValue]) {
        let resource = try value(OTLPFormat(Self.settings, [:]), record)
        let log = try #require(resource["scopeLogs"]?.asArray?.first?["logRecords"]?.asArray?.first)
        let attributes = log["attributes"]?.asArray ?? []
        return (
            log,
            Dictionary(
                attributes.compactMap { attribute in
                    attribute["key"]?.asString.map { ($0, attribute["value"] ?? .null) }
                }, uniquingKeysWith: { _, _ in "twice" })
        )
    }

    @Test("An OTLP receiver gets the trace and span ids in their own fields, the request and user ids as attributes")
    func otlp() throws {
        let (log, attributes) = try log(Self.full)
        #expect(log["traceId"]?.asString == Self.trace)
        #expect(log["spanId"]?.asString == Self.span)
        #expect(attributes["issue.request_id"] == ["stringValue": "r-\"7\""])
        #expect(attributes["user.id"] == ["stringValue": "anna\n"])
        let plain = try self.log(Samples.full)
        #expect(plain.record["traceId"] == nil && plain.record["spanId"] == nil)
        #expect(plain.attributes["user.id"] == nil && plain.attributes["issue.request_id"] == nil)
        // A span belongs to a trace.
        var alone = Self.full
        alone.own.record.context.traceID = nil
        #expect(try self.log(alone).record["spanId"] == nil)
    }

    @Test("An OTLP receiver gets an error or a backtrace as the attributes of an exception")
    func exception() throws {
        let attributes = try log(Samples.full).attributes
        #expect(attributes["exception.type"] == ["stringValue": "com.example.shop.DecodingError"])
        #expect(attributes["exception.message"] == ["stringValue": "The page 7 could not be read"])
        let stack = attributes["exception.stacktrace"]?["stringValue"]?.asString
        #expect(stack?.hasPrefix("load(page:) at Shop/Catalogue.swift:42 in shop+0x1a2b\n") == true)
        #expect(attributes["issue.backtrace"] == nil)
        #expect(attributes["issue.domain"] == ["stringValue": "com.example.shop.DecodingError"])

        var bare = Samples.full
        bare.own.record.domain = nil
        #expect(try log(bare).attributes["exception.type"] == nil)
        #expect(try log(bare).attributes["exception.stacktrace"] != nil)
        bare.own.record.backtrace = []
        #expect(try log(bare).attributes.keys.allSatisfy { !$0.hasPrefix("exception.") })
    }
}
