package import HTTPTransfer
package import IssueCore
import IssueProtocol

/// The format of lines and requests for a Logz.io listener.
package struct LogzFormat: HTTPFormat {
    package static var kind: String { "logzio" }
    package static var section: String { "LogzIO" }
    package static var credentialWord: String { "shipping token" }
    package static var defaultCredential: String? { "logzio-token" }
    /// Limits apply by default, because Logz.io penalises floods.
    package static var isLimitedByDefault: Bool { true }

    package static let frame = BodyFrame.lines

    package let http: HTTPSettings
    let type: String
    /// The name of the metadata object; nil for `<platform>.metadata`.
    let metadataKey: String?

    /// - Parameters:
    ///   - http: The settings for requests.
    ///   - type: The type of the lines.
    ///   - metadataKey: The name of the metadata object; nil for `<platform>.metadata`. An unusable name is ignored.
    package init(_ http: HTTPSettings, type: String = "issued", metadataKey: String? = nil) {
        self.http = http
        self.type = type
        self.metadataKey = metadataKey.flatMap { ReservedKeys.isUsable(metadataKey: $0) ? $0 : nil }
    }

    package func complete(_ request: inout HTTPRequest, token: ShippingToken?) {
        request.url += "?token=\(PercentEncoding.encode(token?.text ?? ""))&type=\(PercentEncoding.encode(type))"
        request.headers = ["Content-Type": "text/plain"]
    }

    /// Completes a request with an empty line, which Logz.io counts but does not store. Logz.io checks the token first.
    package func completeProbe(_ request: inout HTTPRequest, token: ShippingToken?) {
        complete(&request, token: token)
        request.body = [UInt8(ascii: "\n")]
    }

    package static func acceptsProbe(_ response: HTTPResponse) -> Bool {
        response.status == 200 || response.status == 400
    }

    package static func result(of response: HTTPResponse, lines: Int) -> DeliveryResult? {
        guard response.status == 400 else { return nil }
        let counters = RejectionCounters(response.body, lines: lines)
        return DeliveryResult(
            .partial(PartialAnswer(successful: counters?.successful)),
            ResponseSummary("400: \(counters?.text ?? "lines rejected, without counters")"))
    }
}

extension LogzFormat {
    package static var options: [DestinationOption] {
        [
            DestinationOption(
                "Region", "The region of the account, instead of URL=.",
                expected: list(LogzRegion.allCases.map(\.rawValue)), accepts: { LogzRegion(rawValue: $0) != nil }),
            DestinationOption(
                "Connection", default: LogzConnection.secure.rawValue, dependsOnAddress: true,
                "HTTPS, HTTP, or a TLS stream without replies.",
                expected: list(LogzConnection.allCases.map(\.rawValue)),
                accepts: { LogzConnection(rawValue: $0) != nil }),
            DestinationOption("Type", default: "issued", "The type field of the records."),
            DestinationOption(
                "MetadataKey", "The key under which metadata is sent.",
                expected: "a field name such as my.metadata: at most 64 letters, digits, “_” and single dots, and not "
                    + "the name of another field",
                accepts: { ReservedKeys.isUsable(metadataKey: $0) }),
        ]
    }

    package init(_ http: HTTPSettings, _ options: [String: String]) {
        self.init(http, type: options["Type"] ?? "issued", metadataKey: options["MetadataKey"])
    }

    /// Returns `true` if the options select the TLS stream.
    package static func isStreaming(_ options: [String: String]) -> Bool {
        options["Connection"] == LogzConnection.streaming.rawValue
    }

    package static func address(
        _ url: HTTPAddress?, _ options: inout [String: String]
    ) throws(AddressError) -> HTTPAddress {
        let region = options["Region"].flatMap { LogzRegion(rawValue: $0) }
        let connection = options["Connection"].flatMap { LogzConnection(rawValue: $0) }
        let address: HTTPAddress
        switch (region, url) {
        case (let region?, nil): address = HTTPAddress(region, connection ?? .secure)
        case (nil, let url?): address = url
        case (_?, _?): throw .both("Region", "URL")
        case (nil, nil):
            throw .missing(
                keys: ["Region", "URL"],
                expected: "Region= (\(list(LogzRegion.allCases.map(\.rawValue)))) or URL=")
        }
        if let connection, connection.scheme != address.scheme {
            throw .contradiction(
                key: "Connection",
                "Connection=\(connection.rawValue) uses \(connection.scheme.rawValue) but URL= uses "
                    + "\(address.scheme.rawValue); expected the same scheme.")
        }
        options["Connection"] = (connection ?? (address.scheme == .https ? .secure : .insecure)).rawValue
        return address
    }

    private static func list(_ names: [String]) -> String {
        "\(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")"
    }
}

/// The protocol that is used for a Logz.io listener.
package enum LogzConnection: String, CaseIterable, Sendable {
    case secure
    case insecure
    /// A TLS stream with one line per record and without replies.
    case streaming

    fileprivate var scheme: HTTPAddress.Scheme { self == .insecure ? .http : .https }

    fileprivate var port: UInt16 {
        switch self {
        case .secure: 8071
        case .insecure: 8070
        case .streaming: 5052
        }
    }
}

extension HTTPAddress {
    /// Creates the address of a listener of Logz.io.
    package init(_ region: LogzRegion, _ connection: LogzConnection = .secure) {
        self.init(scheme: connection.scheme, host: region.host, port: connection.port)
    }
}

extension LogzFormat {
    package static func advice(on reason: PauseReason) -> String {
        switch reason {
        case .unauthorised:
            "The shipping token was rejected: replace it. \(PauseReason.rereading)"
        case .forbidden:
            "Access is denied: check the account, its token and its allowed addresses, or the proxy if the answer "
                + "names one."
        case .notFound: "The address does not exist at the destination: check Region= or URL=."
        case .redirected: "The destination redirects, and redirects are not followed: check Region= or URL=."
        case .manyLinesRefused:
            "The destination rejects most lines: check Type= and the account's limits."
        case .methodNotAllowed, .proxyRefuses, .noCredential: reason.advice
        }
    }
}

/// The regions of Logz.io.
package enum LogzRegion: String, CaseIterable, Hashable, Sendable {
    case us
    case wa
    case au
    case ca
    case eu
    case uk
    case nl

    package var host: String {
        switch self {
        case .us: "listener.logz.io"
        case .wa, .au, .ca, .eu, .uk, .nl: "listener-\(rawValue).logz.io"
        }
    }
}

/// The counters in Logz.io's 400 response.
struct RejectionCounters: Equatable {
    /// The number of accepted lines; nil if the response does not state a possible number.
    private(set) var successful: Int?
    /// The counters as text.
    let text: String

    /// Reads the counters of a response. Negative values, and values above the number of lines, are ignored.
    ///
    /// - Returns: Nil if the response contains no counters.
    init?(_ body: [UInt8], lines: Int) {
        guard let value = try? JSONValue(json: body), value.asObject != nil else { return nil }
        let names = ["malformedLines", "oversizedLines", "emptyLogLines"]
        let all = (["successfulLines"] + names).map { value[$0]?.asInteger }
        guard all.contains(where: { $0 != nil }) else { return nil }
        let counts = all.map { $0.flatMap { (0...Int64(lines)).contains($0) ? Int($0) : nil } }
        successful = counts[0]
        let causes = zip(["malformed", "oversized", "empty"], counts.dropFirst())
            .compactMap { name, count in count.flatMap { $0 > 0 ? "\(name) \($0)" : nil } }
        let rejected = counts[0].map { "\(lines - $0) of \(lines)" } ?? "some of \(lines)"
        text = "\(rejected) lines rejected\(causes.isEmpty ? "" : " (\(causes.joined(separator: ", ")))")"
    }
}

/// Writes lines to Logz.io's TLS listener, which never responds.
///
/// Logz.io no longer documents this listener. The token is a member of each line. It is added when the line is sent and
/// is not stored.
package struct LogzStreamShipper: Shipper, ~Copyable, Sendable {
    package static func advice(on reason: PauseReason) -> String { LogzFormat.advice(on: reason) }

    private let format: LogzFormat
    private var credential: Credential
    private var client: StreamClient

    package init(_ format: LogzFormat, credential: Credential, cancellation: HTTPCancellation? = nil) {
        self.format = format
        self.credential = credential
        client = StreamClient(cancellation: cancellation)
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        format.line(of: record, types: &types)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] { format.line(of: summary) }

    package func line(of correction: OutboundCorrection) -> [UInt8] { format.line(of: correction) }

    package func cut(_ line: [UInt8]) -> [UInt8]? { format.cut(line) }

    package func prepare() -> any PreparedBody { StreamLines() }

    package mutating func send(_ body: any PreparedBody, within limit: Duration?) -> DeliveryResult {
        guard let token = credential.token, let lines = (body as? StreamLines)?.lines else { return Credential.missing }
        let head = Array("{\"token\":".utf8) + JSONValue.string(token.text).json + [UInt8(ascii: ",")]
        var bytes: [UInt8] = []
        bytes.reserveCapacity(lines.reduce(0) { $0 + $1.count + head.count })
        for line in lines { bytes += head + line.dropFirst() + [UInt8(ascii: "\n")] }
        do throws(HTTPTransferError) {
            try client.send(bytes, to: format.http.request(within: limit))
            return DeliveryResult(
                .unconfirmed, ResponseSummary("sent \(DeliveryResult.count(lines.count)), unconfirmed"))
        } catch {
            return DeliveryResult(error)
        }
    }

    package var lacksCredential: Bool { credential.isMissing }

    package mutating func rereadCredential() -> Bool { credential.reread() }
}

/// The lines for a stream. The token is added to each line when it is sent.
final class StreamLines: PreparedBody {
    private(set) var lines: [[UInt8]] = []

    var count: Int { lines.count }

    func add(_ line: [UInt8]) { lines.append(line) }
}

@available(*, unavailable)
extension StreamLines: Sendable {}

/// The lines for Logz.io.
///
/// The fields of jww-error-reporting keep their names and types, so that existing dashboards work. A line is compact
/// JSON without line feeds.
extension LogzFormat {
    /// Returns a line that was too large, trimmed as far as possible; nil if it cannot be trimmed any further.
    package func cut(_ line: [UInt8]) -> [UInt8]? {
        guard var draft = LineDraft(line: line) else { return nil }
        for step in TrimStep.allCases { draft.trim(step) }
        let bytes = draft.bytes
        return bytes.count < line.count ? bytes : nil
    }
}

extension LogzFormat {
    /// Returns the line of a record.
    package func line(of outbound: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        // Only the shared parts need the complete record, and they are usually copied from an earlier line.
        let stored = outbound.own
        let record = stored.record
        let (time, timeRepair) = stored.plausibleTime

        var line = LineWriter()
        var cached = outbound.seriesCache?.cachedLine ?? CachedLine()
        var shared = SharedParts(cached.parts)
        let moment = time.description
        line.put("@timestamp", moment)
        line.put(&shared) { line in
            line.put("type", type)
            line.put("event_kind", "issue")
        }
        line.put("event_id", stored.id)
        line.put(&shared) { line in
            line.put("code", outbound.stored.record.code ?? 0)
            line.putDomain(outbound.stored.record.domain, app: outbound.app)
        }
        line.put("message", record.message)
        line.put(&shared) { line in line.putEnvironment(outbound.stored.record.app) }
        line.put("reported_at", moment)
        line.put(&shared) { line in line.putMobile(outbound.stored.record.app) }
        let metadata = putMetadata(of: outbound, into: &line, types: &types, &cached)
        line.put(&shared) { line in
            let record = outbound.stored.record
            line.put("severity", (record.severity ?? .error).name)
            line.put("app", outbound.app)
            line.put("file", ifPresent: record.source?.fileID)
            line.put("line", ifPresent: record.source?.line)
            line.put("function", ifPresent: record.source?.function)
            line.put("host", outbound.host)
        }
        line.put("unit", ifPresent: stored.sender.unit)
        line.put("uid", Int64(stored.sender.uid))
        for (field, id) in record.context.values { line.put(field.columnName, id) }
        line.put(&shared) { line in line.put("fingerprint", outbound.fingerprint) }
        // A line that copies the parts would not list their cut fields, so the parts are kept only if no field was cut.
        if !shared.written.isEmpty, line.truncated.names.isEmpty { cached.parts = shared.written }
        outbound.seriesCache?.cachedLine = cached
        line.put("occurrences", outbound.occurrences)
        line.put("suppressed_before", outbound.suppressedBefore)
        line.putCauses(record.causes)
        if !record.backtrace.isEmpty {
            line.put("backtrace", RecordColumns.backtrace(of: record))
        }
        if !metadata.context.isEmpty {
            line.put("context_json", String(decoding: JSONValue.object(metadata.context).json, as: UTF8.self))
        }
        line.putRepairs(stored.repairs + [timeRepair].compactMap(\.self) + metadata.repairs)
        return line.line()
    }

    private static func metadata(of outbound: OutboundRecord) -> (members: [JSONValue.Member], repairs: [String]) {
        guard let metadata = outbound.metadata, !metadata.isNull else { return ([], []) }
        // Only objects are stored, so other values are not expected.
        guard let members = metadata.asObject else { return ([.init("value", metadata)], []) }
        let (renamed, keys) = ReservedKeys.renamed(in: members)
        return (renamed, keys.map { "the metadata key \($0) is reserved and was renamed" })
    }

    /// Writes the part of the metadata that fits. Returns the rest, and a description of each renamed key.
    private func putMetadata(
        of outbound: OutboundRecord, into line: inout LineWriter, types: inout FieldTypes, _ cached: inout CachedLine
    ) -> (context: [JSONValue.Member], repairs: [String]) {
        if cached.metadataName.isEmpty {
            cached.metadataName =
                metadataKey ?? "\(Self.fieldName(of: outbound.stored.record.app?.platform)).metadata"
        }
        let name = cached.metadataName
        if let text = outbound.storedMetadata {
            var plain = PlainMetadata(under: name, cached.fields)
            if let json = plain.json(of: text, types) {
                line.put(name, json: json)
                cached.fields = plain.fields
                return ([], [])
            }
        }
        let (members, repairs) = Self.metadata(of: outbound)
        guard !members.isEmpty else { return ([], repairs) }
        var fitting = MetadataFitting(types: types, user: outbound.user)
        if let object = fitting.fit(members, under: name) { line.put(name, object) }
        types = fitting.types
        let cut = fitting.truncated.names
        for path in cut.count > LineLimits.truncatedNames ? [name] : cut { line.truncated.note(path) }
        return (fitting.context, repairs)
    }

    /// Returns the platform in lower case if it can be part of a field name; otherwise `linux`. The sender chooses the
    /// platform.
    private static func fieldName(of platform: String?) -> String {
        guard let platform = platform?.lowercased(), (1...32).contains(platform.utf8.count),
            platform.utf8.allSatisfy(ReservedKeys.isFieldNameByte), ReservedKeys.isUsable(metadataKey: platform)
        else { return "linux" }
        return platform
    }
}

extension LogzFormat {
    /// Returns the line of a summary of suppressed records.
    package func line(of summary: OutboundSummary) -> [UInt8] {
        var line = LineWriter()
        line.put("@timestamp", summary.windowEnd.description)
        line.put("type", type)
        line.put("event_kind", "suppression_summary")
        line.put("event_id", summary.eventID)
        line.put("code", summary.code ?? 0)
        line.putDomain(summary.domain, app: summary.app)
        line.put("message", RecordColumns.message(of: summary))
        line.putEnvironment(summary.application)
        line.put("reported_at", summary.windowEnd.description)
        line.putMobile(summary.application)
        line.put("severity", summary.severity.name)
        line.put("app", summary.app)
        line.put("host", summary.host)
        line.put("fingerprint", ifPresent: summary.fingerprint)
        line.put("suppression_reason", summary.reason.rawValue)
        line.put("window_start", summary.windowStart.description)
        line.put("window_end", summary.windowEnd.description)
        line.put("suppressed_count", summary.suppressedCount)
        line.put("forwarded_count", summary.forwardedCount)
        line.put("occurrences", summary.occurrences)
        line.put("summary_seq", summary.sequence)
        line.put("first_seen", summary.firstSeen.description)
        line.put("last_seen", summary.lastSeen.description)
        line.put("distinct_groups_suppressed", summary.distinctGroups)
        line.put("sample_event_ids", summary.sampleIDs.joined(separator: ","))
        line.put("still_suppressing", .bool(summary.stillSuppressing))
        return line.line()
    }
}

extension LogzFormat {
    /// Returns the line of a correction of the grouping.
    package func line(of correction: OutboundCorrection) -> [UInt8] {
        let time = correction.correction.timestamp.description
        var line = LineWriter()
        line.put("@timestamp", time)
        line.put("type", type)
        line.put("code", Int64(0))
        line.putDomain(nil, app: correction.correction.app)
        line.putEnvironment(nil)
        line.put("reported_at", time)
        line.putMobile(nil)
        line.put("occurrences", Int64(0))
        for member in RecordColumns.members(of: correction) + RecordColumns.details(of: correction) {
            if let text = member.value.asString {
                line.put(member.key, text)
            } else {
                line.put(member.key, member.value)
            }
        }
        return line.line()
    }
}
