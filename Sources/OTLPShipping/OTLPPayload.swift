import HTTPShipping
package import IssueCore
import IssueProtocol

/// Makes the `ResourceLogs` of each record, in the JSON form of OTLP.
///
/// Source: the OpenTelemetry protocol's specification, "JSON Protobuf Encoding":
/// names in lowerCamelCase, 64-bit integers as text, enumerations as numbers.
package struct OTLPPayload: Sendable {
    package init() {}

    package func line(of outbound: OutboundRecord) -> [UInt8] {
        let stored = outbound.stored
        let record = stored.record
        var attributes: [(String, JSONValue)] = [("event.id", .string(stored.id))]
        for member in RecordFields.members(of: outbound) where !Self.elsewhere.contains(member.key) {
            attributes.append(("issue.\(member.key)", member.value))
        }
        if !record.causes.isEmpty { attributes.append(("issue.causes", RecordFields.causes(of: record))) }
        for member in outbound.metadata?.asObject ?? [] {
            attributes.append(("issue.metadata.\(member.key)", member.value))
        }
        return Self.resourceLogs(
            app: outbound.app, version: record.app?.version, environment: record.app?.environment,
            host: outbound.host, time: stored.believedTime.time, observed: stored.receivedAt,
            severity: record.severity ?? .error, body: record.message, attributes: attributes)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] {
        var attributes: [(String, JSONValue)] = [
            ("event.id", .string(summary.eventID)), ("issue.window_start", .string(summary.windowStart.text)),
            ("issue.first_seen", .string(summary.firstSeen.text)),
            ("issue.last_seen", .string(summary.lastSeen.text)),
        ]
        for member in RecordFields.members(of: summary) where !Self.elsewhere.contains(member.key) {
            attributes.append(("issue.\(member.key)", member.value))
        }
        return Self.resourceLogs(
            app: summary.app, version: summary.application.version, environment: summary.application.environment,
            host: summary.host, time: summary.windowEnd, observed: summary.windowEnd, severity: summary.severity,
            body: "\(summary.suppressedCount) more of: \(summary.title)", attributes: attributes)
    }

    /// What has a place of its own in the protocol.
    private static let elsewhere: Set<String> = [
        "event_id", "app", "host", "severity", "message", "version", "environment",
    ]

    private static func resourceLogs(
        app: String, version: String?, environment: String?, host: String, time: Timestamp, observed: Timestamp,
        severity: Severity, body: String, attributes: [(String, JSONValue)]
    ) -> [UInt8] {
        var resource: [(String, JSONValue)] = [("service.name", .string(app)), ("host.name", .string(host))]
        if let version { resource.append(("service.version", .string(version))) }
        if let environment { resource.append(("deployment.environment.name", .string(environment))) }
        let record = JSONValue.object([
            .init("timeUnixNano", .string(nanoseconds(time))),
            .init("observedTimeUnixNano", .string(nanoseconds(observed))),
            .init("severityNumber", .integer(number(of: severity))),
            .init("severityText", .string(severity.name)),
            .init("body", value(.string(body))),
            .init("attributes", list(attributes)),
        ])
        let scope = JSONValue.object([
            .init("scope", .object([.init("name", "issued")])), .init("logRecords", .array([record])),
        ])
        return JSONValue.object([
            .init("resource", .object([.init("attributes", list(resource))])), .init("scopeLogs", .array([scope])),
        ]).json
    }

    private static func nanoseconds(_ time: Timestamp) -> String { "\(max(0, time.milliseconds))000000" }

    /// The least of each range of the specification's table.
    private static func number(of severity: Severity) -> Int64 {
        switch severity {
        case .debug: 5
        case .info: 9
        case .warning: 13
        case .error: 17
        case .critical: 21
        }
    }

    private static func list(_ attributes: [(String, JSONValue)]) -> JSONValue {
        .array(attributes.map { .object([.init("key", .string($0.0)), .init("value", value($0.1))]) })
    }

    /// An `AnyValue`.
    private static func value(_ value: JSONValue) -> JSONValue {
        switch value {
        case .null: .object([])
        case .bool(let bool): .object([.init("boolValue", .bool(bool))])
        case .integer(let integer): .object([.init("intValue", .string("\(integer)"))])
        case .number: .object([.init("doubleValue", value)])
        case .string(let text): .object([.init("stringValue", .string(text))])
        case .array(let elements):
            .object([.init("arrayValue", .object([.init("values", .array(elements.map(Self.value)))]))])
        case .object(let members):
            .object([.init("kvlistValue", .object([.init("values", list(members.map { ($0.key, $0.value) }))]))])
        }
    }
}
