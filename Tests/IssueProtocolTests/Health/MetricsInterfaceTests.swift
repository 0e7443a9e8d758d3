import IssueProtocol
import Testing

@Suite("The interface io.systemd.Metrics")
struct MetricsInterfaceTests {
    private static let now = IssueTimestamp("2026-11-21T12:00:00Z") ?? .epoch
    private static let source = MetricSource(HealthReportTests.status(), now: now)

    /// Decodes the messages of several replies, each ended by a NUL.
    private func replies(_ bytes: [UInt8]) throws -> [VarlinkReply] {
        try bytes.split(separator: 0).map { try VarlinkReply(decoding: Array($0)) }
    }

    @Test("List returns one reply for each value, and all but the last announce another")
    func list() throws {
        let replies = try replies(MetricsMethod.valueReplies(Self.source))
        #expect(replies.count == MetricFamily.values(Self.source).reduce(0) { $0 + $1.samples.count })
        #expect(replies.dropLast().allSatisfy(\.continues) && replies.last?.continues == false)
        let values = replies.map { String(decoding: $0.parameters, as: UTF8.self) }
        #expect(values.contains(#"{"name":"org.issued.Collector.StoreSizeBytes","value":4096}"#))
        #expect(
            values.contains(
                """
                {"name":"org.issued.Collector.DestinationRecords","value":5,"object":"logzio",\
                "fields":{"fate":"delivered"}}
                """))
        #expect(values.contains { $0.contains(#""fields":{"version":"0.1.0"}"#) && !$0.contains("object") })
    }

    @Test("Describe returns all families of metrics, with distinct names that begin with org.issued.Collector")
    func describe() throws {
        let replies = try replies(MetricsMethod.descriptionReplies)
        let families = try replies.map { try JSONValue(json: $0.parameters) }
        #expect(families.count == MetricFamily.all.count)
        #expect(families.map { $0["type"]?.asString } == MetricFamily.all.map(\.kind.rawValue))
        #expect(families.map { $0["description"]?.asString } == MetricFamily.all.map(\.help))
        let names = families.compactMap { $0["name"]?.asString }
        #expect(Set(names).count == families.count)
        #expect(names.allSatisfy { $0.hasPrefix("org.issued.Collector.") && !$0.contains("_") })
        #expect(replies.dropLast().allSatisfy(\.continues) && replies.last?.continues == false)
    }

    @Test("A call with a parameter is refused, and so is one that does not accept several replies")
    func manners() {
        #expect(throws: CollectorError.expectedMore) {
            try MetricsMethod.check(parameters: Array("{}".utf8), more: false)
        }
        #expect(throws: CollectorError.invalidParameter("filter")) {
            try MetricsMethod.check(parameters: Array(#"{"filter":null}"#.utf8), more: true)
        }
        #expect(throws: Never.self) { try MetricsMethod.check(parameters: Array("{}".utf8), more: true) }
    }

    @Test("The description declares exactly the methods that can be called, and the error NoSuchMetric")
    func names() {
        let lines = MetricsInterface.description.split(separator: "\n")
        let methods = lines.filter { $0.hasPrefix("method ") }.map { $0.dropFirst(7).prefix { $0 != "(" } }
        #expect(methods.map(String.init) == MetricsMethod.allCases.map(\.rawValue))
        #expect(lines.contains("interface \(MetricsInterface.name)") && lines.contains("error NoSuchMetric ()"))
        for method in MetricsMethod.allCases { #expect(MetricsMethod(fullName: method.fullName) == method) }
        #expect(MetricsMethod(fullName: "io.systemd.Metrics.Purge") == nil)
    }
}
