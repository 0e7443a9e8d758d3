package import HTTPTransfer
package import IssueCore
import IssueProtocol

/// Sends lines to a Logz.io listener.
package struct LogzFormat: HTTPFormat {
    package static var kind: String { "logzio" }

    package static let frame = BodyFrame.lines

    package let http: HTTPSettings
    private let type: String
    private let payload: LogzPayload

    package init(_ settings: LogzSettings) {
        http = settings.http
        type = settings.type
        payload = LogzPayload(type: settings.type, metadataKey: settings.metadataKey)
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        payload.line(of: record, types: &types)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] { payload.line(of: summary) }

    package func cut(_ line: [UInt8]) -> [UInt8]? { payload.cut(line) }

    package func post(token: ShippingToken?) -> HTTPPost {
        let query = "token=\(PercentEncoding.encode(token?.text ?? ""))&type=\(PercentEncoding.encode(type))"
        return HTTPPost(type: "text/plain", query: query)
    }

    package static func reading(
        of response: HTTPResponse, to lines: RequestLines, by reader: ResponseClassifier
    ) -> ClassifiedResponse? {
        guard response.status == 400 else { return nil }
        guard let counters = RefusalCounters(response.body) else {
            let text = reader.text(of: response, ifSilent: "lines rejected, without counters")
            return ClassifiedResponse(.partial(PartialAnswer(successful: nil)), text)
        }
        let successful = counters.successful.flatMap { Int(exactly: $0) }
        let answer = PartialAnswer(successful: successful, invalidLines: LineCheck.invalidLines(in: lines.all))
        return ClassifiedResponse(.partial(answer), "400: \(counters.text(of: lines.count))")
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
            "The destination rejects most lines: see its last answer, and check Type= and the account's limits."
        case .methodNotAllowed, .proxyRefuses, .noCredential: reason.advice
        }
    }
}

/// The address of the listener.
package typealias LogzAddress = HTTPAddress

extension HTTPAddress {
    package init(_ region: LogzRegion, _ scheme: Scheme = .https) {
        self.init(scheme: scheme, host: region.host, port: scheme.listenerPort)
    }
}

extension HTTPAddress {
    /// Creates the address of the listener that accepts lines over TLS and sends no response.
    package init(streamingTo region: LogzRegion) {
        self.init(scheme: .https, host: region.host, port: 5052)
    }
}

extension HTTPAddress.Scheme {
    /// The port of Logz.io's listener for the scheme.
    package var listenerPort: UInt16 {
        switch self {
        case .http: 8070
        case .https: 8071
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

/// The settings of a Logz.io destination. They contain no secrets and may be printed.
package struct LogzSettings: Equatable, Sendable {
    package var http: HTTPSettings
    package var type = "issued"
    /// The name of the metadata object; nil for `<platform>.metadata`.
    package var metadataKey: String?

    package init(address: LogzAddress) {
        http = HTTPSettings(address: address)
    }
}

/// Finds the lines that violate Logz.io's documented rules for rejecting lines.
///
/// Lines that Logz.io accepts and drops later are not included, since it does not count them as rejected.
enum LineCheck {
    static let maxBytes = 500_000

    /// Returns the indexes of the invalid lines.
    static func invalidLines(in lines: [[UInt8]]) -> [Int] {
        lines.indices.filter { !isGood(lines[$0]) }
    }

    private static func isGood(_ line: [UInt8]) -> Bool {
        guard !line.isEmpty, line.count <= maxBytes, !line.contains(0x0A) else { return false }
        var scanner = JSONScanner(line.span)
        do {
            guard try scanner.kind() == .object else { return false }
            try scanner.skipValueOfAnySize()
            try scanner.end()
            return true
        } catch {
            return false
        }
    }
}

/// The counters in Logz.io's 400 response.
struct RefusalCounters: Equatable {
    var malformed: Int64 = 0
    var successful: Int64?
    var oversized: Int64 = 0
    var empty: Int64 = 0

    /// Returns nil if the response contains no counters.
    init?(_ body: [UInt8]) {
        guard let value = try? JSONValue(json: body), value.asObject != nil else { return nil }
        let successful = value["successfulLines"]?.asInteger
        let refused = ["malformedLines", "oversizedLines", "emptyLogLines"].map { value[$0]?.asInteger }
        guard successful != nil || refused.contains(where: { $0 != nil }) else { return nil }
        self.successful = successful
        malformed = refused[0] ?? 0
        oversized = refused[1] ?? 0
        empty = refused[2] ?? 0
    }

    /// Returns a description of the counters for a request of `sent` lines.
    func text(of sent: Int) -> String {
        let counts = [("malformed", malformed), ("oversized", oversized), ("empty", empty)]
            .filter { $0.1 != 0 }.map { "\($0.0) \($0.1)" }
        let why = counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))"
        guard let successful, (0...Int64(sent)).contains(successful) else {
            return "some of \(sent) lines rejected\(why)"
        }
        return "\(Int64(sent) - successful) of \(sent) lines rejected\(why)"
    }
}
