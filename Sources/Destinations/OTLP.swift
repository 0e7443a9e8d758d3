package import HTTPTransfer
package import IssueCore
import IssueProtocol

/// Sends records as logs over OTLP/HTTP, in JSON.
package struct OTLPFormat: HTTPFormat {
    package static var kind: String { "otlp" }
    package static var section: String { "OTLP" }
    package static var options: [DestinationOption] { [] }
    package static var expectedURL: String {
        "an address such as https://collector.example.com:4318, without a user or a “?”; a token belongs in the file "
            + "that Credential= names"
    }

    package static let frame = BodyFrame.array(named: "resourceLogs")

    package let http: HTTPSettings

    /// Creates the format. An address without a path gets the default path of OTLP.
    package init(_ http: HTTPSettings, _ options: [String: String]) {
        var http = http
        let address = http.address
        if address.path == "/" {
            http.address = HTTPAddress(
                scheme: address.scheme, host: address.host, port: address.port, path: "/v1/logs")
        }
        self.http = http
    }

    package func complete(_ request: inout HTTPRequest, token: ShippingToken?) {
        request.headers = ["Content-Type": "application/json"]
        if let token { request.headers.append(name: "Authorization", value: "Bearer \(token.text)") }
    }
}

extension OTLPFormat {
    /// Completes the request with a body without records.
    package func completeProbe(_ request: inout HTTPRequest, token: ShippingToken?) {
        complete(&request, token: token)
        request.body = Array(#"{"resourceLogs":[]}"#.utf8)
    }

    package static func acceptsProbe(_ response: HTTPResponse) -> Bool {
        (200..<300).contains(response.status) && isFromReceiver(response)
    }
}

extension OTLPFormat {
    /// Classifies a response. Returns nil if its status is enough.
    ///
    /// A partial success states how many records were rejected, but not which ones. After it, no record of the request
    /// may be sent again. 429, 502, 503 and 504 may be retried, but 400 must not be. Source: the OpenTelemetry protocol
    /// specification, "OTLP/HTTP Response".
    package static func result(of response: HTTPResponse, lines: Int) -> DeliveryResult? {
        let status = response.status
        guard (200..<300).contains(status) else { return nil }
        guard isFromReceiver(response) else {
            return DeliveryResult(
                .paused(.notFound), ResponseSummary("\(status): not a response from an OTLP receiver"))
        }
        let partial = (try? JSONValue(json: response.body))?["partialSuccess"]
        let rejected = min(integer(partial?["rejectedLogRecords"]) ?? 0, lines)
        guard rejected > 0 else { return nil }
        let summary = ResponseSummary("\(status): \(rejected) of \(lines) rejected")
        if rejected == lines {
            let answer = PartialAnswer(successful: 0, invalidLines: Array(0..<lines), isFinal: true)
            return DeliveryResult(.partial(answer), summary)
        }
        // It is unknown which records were accepted, and no record of the request may be sent again.
        return DeliveryResult(.unconfirmed, summary, rejected: rejected)
    }

    package static func advice(on reason: PauseReason) -> String {
        switch reason {
        case .methodNotAllowed:
            "The URL does not accept records: check URL=. After a 415, allow OTLP in JSON at the receiver, or set "
                + "Compression=no if it can't read gzip."
        case .unauthorised, .forbidden, .notFound, .redirected, .proxyRefuses, .manyLinesRefused, .noCredential:
            reason.advice
        }
    }

    /// Returns `true` if an OTLP receiver may have sent the response, because its type is not HTML and its body is a
    /// JSON object, a Protobuf message or empty. Some receivers return an empty body on success.
    private static func isFromReceiver(_ response: HTTPResponse) -> Bool {
        let type = response.headers["Content-Type"]?.lowercased() ?? ""
        if type.hasPrefix("text/html") { return false }
        if response.body.isEmpty || type.hasPrefix("application/x-protobuf") { return true }
        return (try? JSONValue(json: response.body))?.asObject != nil
    }

    /// Returns a 64-bit integer, which is a string in this encoding. A number is accepted because some receivers send
    /// one.
    private static func integer(_ value: JSONValue?) -> Int? {
        (value?.asInteger ?? value?.asString.flatMap { Int64($0) }).flatMap { Int(exactly: $0) }
    }
}

/// The lines, each of which is a `ResourceLogs` object in the JSON encoding of OTLP.
///
/// Source: the OpenTelemetry protocol specification, "JSON Protobuf Encoding": names in lowerCamelCase, 64-bit integers
/// as strings, enumerations as numbers.
extension OTLPFormat {
    package func line(of outbound: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        let stored = outbound.stored
        let record = stored.record
        var attributes: [JSONValue.Member] = [.init("event.id", .string(stored.id))]
        attributes += Self.attributes(RecordColumns.members(of: outbound)) + Self.exception(of: record)
        // The ids of the trace and the span have fields of their own.
        for (field, id) in record.context.values where field != .traceID && field != .spanID {
            attributes.put(field == .user ? "user.id" : "issue.\(field.key)", id)
        }
        if !record.causes.isEmpty { attributes.append(.init("issue.causes", RecordColumns.causes(of: record))) }
        attributes += ReservedKeys.unique(outbound.metadata?.asObject ?? []).map {
            .init("issue.metadata.\($0.key)", $0.value)
        }
        return Self.resourceLogs(
            app: outbound.app, version: record.app?.version, environment: record.app?.environment,
            host: outbound.host, time: stored.plausibleTime.time, observed: stored.receivedAt,
            severity: record.severity ?? .error, body: record.message, context: record.context,
            attributes: attributes)
    }

    /// Returns the attributes by which a receiver recognises an exception; empty if the record has neither an
    /// error domain nor a backtrace.
    ///
    /// Source: the OpenTelemetry semantic conventions, "Exceptions in logs".
    private static func exception(of record: IssueRecord) -> [JSONValue.Member] {
        guard record.domain != nil || !record.backtrace.isEmpty else { return [] }
        var attributes: [JSONValue.Member] = []
        attributes.put("exception.type", record.domain)
        attributes.put("exception.message", record.message)
        if !record.backtrace.isEmpty { attributes.put("exception.stacktrace", RecordColumns.backtrace(of: record)) }
        return attributes
    }

    package func line(of summary: OutboundSummary) -> [UInt8] {
        let fields = RecordColumns.times(of: summary) + RecordColumns.members(of: summary)
        return Self.resourceLogs(
            app: summary.app, version: summary.application.version, environment: summary.application.environment,
            host: summary.host, time: summary.windowEnd, observed: summary.windowEnd, severity: summary.severity,
            body: RecordColumns.message(of: summary),
            attributes: [.init("event.id", .string(summary.eventID))] + Self.attributes(fields))
    }

    package func line(of correction: OutboundCorrection) -> [UInt8] {
        let fields = RecordColumns.members(of: correction) + RecordColumns.details(of: correction)
        let time = correction.correction.timestamp
        return Self.resourceLogs(
            app: correction.correction.app, version: nil, environment: nil, host: correction.host, time: time,
            observed: time, severity: .info, body: correction.message,
            attributes: [.init("event.id", .string(correction.eventID))] + Self.attributes(fields))
    }

    /// Returns the fields as attributes, except for `standardFields`.
    private static func attributes(_ fields: [JSONValue.Member]) -> [JSONValue.Member] {
        fields.filter { !standardFields.contains($0.key) }.map { .init("issue.\($0.key)", $0.value) }
    }

    /// The fields that the protocol or its conventions define under other names.
    private static let standardFields: Set<String> = [
        "event_id", "app", "host", "severity", "message", "version", "environment", "backtrace",
    ]

    private static func resourceLogs(
        app: String, version: String?, environment: String?, host: String, time: IssueTimestamp,
        observed: IssueTimestamp, severity: IssueLevel, body: String, context: IssueContext = IssueContext(),
        attributes: [JSONValue.Member]
    ) -> [UInt8] {
        var resource: [JSONValue.Member] = [.init("service.name", .string(app)), .init("host.name", .string(host))]
        resource.put("service.version", version)
        resource.put("deployment.environment.name", environment)
        var members: [JSONValue.Member] = [
            .init("timeUnixNano", .string(nanoseconds(time))),
            .init("observedTimeUnixNano", .string(nanoseconds(observed))),
            .init("severityNumber", .integer(number(of: severity))),
            .init("severityText", .string(severity.name)),
            .init("body", value(.string(body))),
            .init("attributes", list(attributes)),
        ]
        members.put("traceId", context.traceID)
        // Without its trace, a span id has no meaning.
        if context.traceID != nil { members.put("spanId", context.spanID) }
        let scope = JSONValue.object([
            .init("scope", .object([.init("name", "issued")])), .init("logRecords", .array([.object(members)])),
        ])
        return JSONValue.object([
            .init("resource", .object([.init("attributes", list(resource))])), .init("scopeLogs", .array([scope])),
        ]).json
    }

    private static func nanoseconds(_ time: IssueTimestamp) -> String { "\(max(0, time.millisecondsSince1970))000000" }

    /// Returns the number of a severity: the lowest one of its range in the specification's table.
    private static func number(of severity: IssueLevel) -> Int64 {
        switch severity {
        case .debug: 5
        case .info: 9
        case .warning: 13
        case .error: 17
        case .critical: 21
        }
    }

    private static func list(_ attributes: [JSONValue.Member], depth: Int = 0) -> JSONValue {
        .array(
            attributes.map {
                .object([.init("key", .string($0.key)), .init("value", value($0.value, depth: depth))])
            })
    }

    /// The maximum nesting of a value. Deeper values are sent as text. Each level takes four levels of JSON or three
    /// levels of Protocol Buffers, and some receivers allow only 100 of either.
    private static let maxDepth = 16

    /// Returns a value as `AnyValue`, in a form that every receiver accepts. A receiver would refuse the whole request
    /// because of one bad value.
    private static func value(_ value: JSONValue, depth: Int = 0) -> JSONValue {
        func text(_ text: String) -> JSONValue { .object([.init("stringValue", .string(text))]) }
        return switch value {
        case .null: .object([])
        case .bool(let bool): .object([.init("boolValue", .bool(bool))])
        case .integer(let integer): .object([.init("intValue", .string("\(integer)"))])
        case .number(let spelling):
            RecordColumns.isReadableDouble(spelling) ? .object([.init("doubleValue", value)]) : text(spelling)
        case .string(let string): text(string)
        case .array where depth >= maxDepth, .object where depth >= maxDepth:
            text(String(decoding: value.json, as: UTF8.self))
        case .array(let elements):
            .object([
                .init(
                    "arrayValue",
                    .object([.init("values", .array(elements.map { Self.value($0, depth: depth + 1) }))]))
            ])
        case .object(let members):
            .object([
                .init("kvlistValue", .object([.init("values", list(ReservedKeys.unique(members), depth: depth + 1))]))
            ])
        }
    }
}
