import Destinations
import Foundation
import IssueCore
import IssueProtocol
import Testing

@Suite struct PayloadTests {
    private func format(metadataKey: String) -> LogzFormat {
        LogzFormat(HTTPSettings(address: HTTPAddress(.us)), type: "t", metadataKey: metadataKey)
    }

    /// Returns whether the configuration accepts a value of `MetadataKey=`.
    private func isUsable(metadataKey: String) -> Bool {
        LogzFormat.options.contains { $0.name == "MetadataKey" && $0.accepts(metadataKey) }
    }

    private func line(_ record: OutboundRecord, types: FieldTypes = FieldTypes()) throws -> JSONValue {
        var types = types
        return try parsed(Golden.payload.line(of: record, types: &types))
    }

    @Test("The fields of jww-error-reporting exist with their names and types")
    func compatibility() throws {
        var record = Samples.full
        record.own.record.app?.platform = "ios"
        record.own.record.metadata = ["a": "additional", "b": 1, "f": 0.6, "t": true, "u": "https://x.y/z"]
        var types = FieldTypes()
        let object = try foundationObject(Golden.payload.line(of: record, types: &types))
        let mobile = try #require(object["mobile"] as? [String: Any])
        let metadata = try #require(object["ios.metadata"] as? [String: Any])

        #expect(object["domain"] as? String == "com.example.shop.DecodingError")
        #expect(object["code"] as? Int == 4865)
        #expect(object["message"] as? String == "The page 7 could not be read")
        #expect(object["environment"] as? String == "production")
        #expect(object["function"] as? String == "load(page:)")
        #expect(object["file"] as? String == "Shop/Catalogue.swift")
        #expect(object["line"] as? Int == 42)
        #expect(mobile["version"] as? String == "2.0.0")
        #expect(mobile["build_number"] as? Int == 2500)
        #expect(mobile["build"] as? Int == 2500)
        #expect(mobile["platform"] as? String == "ios")
        #expect(mobile["network"] as? String == "wifi")
        #expect(mobile["development"] as? Bool == false)
        #expect(metadata["a"] as? String == "additional")
        #expect(metadata["b"] as? Int == 1)
        #expect(metadata["f"] as? Double == 0.6)
        #expect(metadata["t"] as? Bool == true)
        #expect(metadata["u"] as? String == "https://x.y/z")
        let reported = try #require(object["reported_at"] as? String)
        let form = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
        #expect(reported.wholeMatch(of: form) != nil)
    }

    @Test("The members of a line are in the documented order")
    func order() throws {
        let members = try line(Samples.full).asObject
        let keys = try #require(members).map(\.key)
        #expect(
            keys == [
                "@timestamp", "type", "event_kind", "event_id", "code", "domain", "message", "environment",
                "reported_at", "mobile", "linux.metadata", "severity", "app", "file", "line", "function", "host",
                "unit",
                "uid", "fingerprint", "occurrences", "suppressed_before", "causes", "backtrace", "repairs",
            ])
    }

    @Test("Missing values have defaults")
    func defaults() throws {
        let value = try line(Samples.minimal)
        #expect(value["domain"] == "shop.issue")
        #expect(value["code"] == 0)
        #expect(value["environment"] == "MISSING")
        #expect(
            value["mobile"] == [
                "version": "MISSING", "build_number": -1, "build": -1, "platform": "linux", "network": "unknown",
                "development": false,
            ])
        for key in ["repairs", "truncated_fields", "causes", "backtrace", "linux.metadata", "context_json"] {
            #expect(value[key] == nil, "\(key)")
        }
    }

    @Test(
        "A claimed time is accepted within seven days of the time of receipt",
        arguments: [0, 1, -1, 7 * 86_400_000, -7 * 86_400_000])
    func plausibleTime(distance: Int64) throws {
        var record = Samples.minimal
        let claimed = IssueTimestamp(millisecondsSince1970: moment.millisecondsSince1970 + distance)
        record.own.record.occurredAt = claimed
        let value = try line(record)
        #expect(value["@timestamp"] == .string(claimed.description))
        #expect(value["repairs"] == nil)
    }

    @Test(
        "A claimed time more than seven days from the time of receipt is replaced, and this is reported",
        arguments: [7 * 86_400_000 + 1, -7 * 86_400_000 - 1])
    func replacedTime(distance: Int64) throws {
        var record = Samples.minimal
        record.own.record.occurredAt = IssueTimestamp(millisecondsSince1970: moment.millisecondsSince1970 + distance)
        let value = try line(record)
        #expect(value["@timestamp"] == .string(moment.description))
        #expect(value["repairs"]?.asArray?.first?.asString?.contains("more than 7 days off") == true)
    }

    @Test("Unless a name is configured, the metadata object is named after the platform, or linux if that is unusable")
    func metadataKey() throws {
        var types = FieldTypes()
        let named = format(metadataKey: "context").line(of: Samples.full, types: &types)
        #expect(try parsed(named)["context"]?["attempt"] == 3)
        #expect(try parsed(named)["linux.metadata"] == nil)

        for (platform, key) in [
            ("macOS", "macos"), ("", "linux"), ("Plan 9", "linux"), ("a.b", "linux"), ("ü", "linux"),
            ("message", "linux"), ("App", "linux"), ("group_id", "linux"),
        ] {
            var record = Samples.full
            record.own.record.app?.platform = platform
            #expect(try line(record)["\(key).metadata"]?["attempt"] == 3, "\(platform)")
        }
    }

    @Test("The metadata object cannot have an invalid name or the name of another field")
    func unusableMetadataKey() throws {
        for key in ["message", "mobile", "host", "mobile.metadata", "", ".", "a.", ".a", "a b", "truncated_fields"] {
            #expect(!isUsable(metadataKey: key), "\(key)")
            var types = FieldTypes()
            let line = format(metadataKey: key).line(of: Samples.full, types: &types)
            #expect(try parsed(line)["linux.metadata"]?["attempt"] == 3, "\(key)")
        }
        for golden in Golden.all {
            let members = try JSONValue(json: golden.line).asObject ?? []
            for key in members.map(\.key) where key != "linux.metadata" {
                #expect(!isUsable(metadataKey: key), "\(key) of \(golden.name)")
            }
        }
        for key in ["context", "linux.metadata", "Ctx_1"] { #expect(isUsable(metadataKey: key), "\(key)") }
    }

    @Test("The same record gives the same bytes, even after the types of its fields became known")
    func determinism() {
        for record in [Samples.full, Samples.hostile, Samples.deep, Samples.typeConflicts, Samples.reserved] {
            var types = Samples.knownTypes
            let first = Golden.payload.line(of: record, types: &types)
            let again = Golden.payload.line(of: record, types: &types)
            #expect(first == again)
            #expect(types.takeAdded().keys.allSatisfy { $0.hasPrefix("linux.metadata") || $0 == "linux" })
        }
    }
}
