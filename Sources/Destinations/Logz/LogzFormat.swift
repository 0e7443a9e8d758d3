package import HTTPTransfer
package import IssueCore
import IssueProtocol

/// Sends lines to a Logz.io listener.
package struct LogzFormat: HTTPFormat {
    package static var kind: String { "logzio" }
    package static var section: String { "LogzIO" }
    package static var credentialWord: String { "shipping token" }
    package static var defaultCredential: String? { "logzio-token" }
    /// Logz.io penalises floods.
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

    /// Sends an empty line, which Logz.io counts as such and does not store. The token is checked first.
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
                expected: "a key of letters, digits and “_” that is not the name of another field",
                accepts: { ReservedKeys.isUsable(metadataKey: $0) }),
        ]
    }

    package init(_ http: HTTPSettings, _ options: [String: String]) {
        self.init(http, type: options["Type"] ?? "issued", metadataKey: options["MetadataKey"])
    }

    /// Returns `true` if the values of the options select the stream.
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
    /// TLS, one line per record and without replies.
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
            "The shipping token was rejected: replace it. A file is reloaded; a systemd credential needs a restart."
        case .forbidden: "Access is denied: check the account, its token and its allowed addresses."
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
    /// The number of accepted lines; nil if the response does not state it.
    private(set) var successful: Int?
    /// The counters as text.
    let text: String

    /// Reads the counters of a response. Negative values, and values above the number of lines, are ignored.
    ///
    /// - Returns: nil if the response contains no counters.
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
/// Logz.io no longer documents this listener. The token is a member of each line; it is added when the line is sent and
/// stored nowhere.
package struct LogzStreamShipper: Shipper, ~Copyable, Sendable {
    package static var kind: String { LogzFormat.kind }
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
                .unconfirmed, ResponseSummary("\(DeliveryResult.count(lines.count)) sent, unconfirmed"))
        } catch {
            return DeliveryResult(error)
        }
    }

    package var lacksCredential: Bool { credential.isMissing }

    package mutating func rereadCredential() -> Bool { credential.reread() }
}

/// The lines for a stream. The token is added to each when it is sent.
final class StreamLines: PreparedBody {
    private(set) var lines: [[UInt8]] = []

    var count: Int { lines.count }

    func add(_ line: [UInt8]) { lines.append(line) }
}

@available(*, unavailable)
extension StreamLines: Sendable {}
