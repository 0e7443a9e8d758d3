package import HTTPTransfer
package import IssueCore
import IssueProtocol

/// Sends lines to a listener of Logz.io.
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
            let text = reader.text(of: response, ifSilent: "lines refused, none counted")
            return ClassifiedResponse(.partial(PartialAnswer(successful: nil)), text)
        }
        let successful = counters.successful.flatMap { Int(exactly: $0) }
        let answer = PartialAnswer(successful: successful, corruptionCheck: LineCheck.corruptionCheck(in: lines.all))
        return ClassifiedResponse(.partial(answer), "400: \(counters.text(of: lines.count))")
    }
}

extension LogzFormat {
    package static func advice(on reason: PauseReason) -> String {
        switch reason {
        case .unauthorised:
            "The shipping token is not accepted: replace the credential. A file is read again; systemd's needs a restart."
        case .forbidden: "The destination refuses this sender: check the account, its token and its allowed addresses."
        case .notFound: "There is no such address at the destination: check Region= or URL=."
        case .redirected: "The destination answers with a redirect, which is never followed: check Region= or URL=."
        case .manyLinesRefused:
            "The destination refuses most lines: look at its answer, and at Type= and the account's limits."
        case .methodNotAllowed, .proxyRefuses, .noCredential: reason.advice
        }
    }
}

/// The listener to which lines are sent.
package typealias LogzAddress = HTTPAddress

extension HTTPAddress {
    package init(_ region: LogzRegion, _ scheme: Scheme = .https) {
        self.init(scheme: scheme, host: region.host, port: scheme.listenerPort)
    }
}

extension HTTPAddress {
    /// The listener that takes lines over TLS and gives no answer.
    package init(streamingTo region: LogzRegion) {
        self.init(scheme: .https, host: region.host, port: 5052)
    }
}

extension HTTPAddress.Scheme {
    /// The port of Logz.io for it.
    package var listenerPort: UInt16 {
        switch self {
        case .http: 8070
        case .https: 8071
        }
    }
}

/// Where Logz.io has listeners.
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

/// How lines go to Logz.io; all of it may be printed.
package struct LogzSettings: Equatable, Sendable {
    package var http: HTTPSettings
    package var type = "issued"
    /// In place of `<platform>.metadata`.
    package var metadataKey: String?

    package init(address: LogzAddress) {
        http = HTTPSettings(address: address)
    }
}

/// Finds the lines that break the rules for which Logz.io refuses lines, as they are documented.
///
/// What it takes and spoils later is no part of this, since it does not count
/// among the refused.
enum LineCheck {
    static let maxBytes = 500_000

    /// The places of the bad lines.
    static func corruptionCheck(in lines: [[UInt8]]) -> [Int] {
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

/// What Logz.io says in a 400 about the lines of the request.
struct RefusalCounters: Equatable {
    var malformed: Int64 = 0
    var successful: Int64?
    var oversized: Int64 = 0
    var empty: Int64 = 0

    /// Nothing for an answer that counts nothing.
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

    /// In words, of so many lines that were sent.
    func text(of sent: Int) -> String {
        let counts = [("malformed", malformed), ("oversized", oversized), ("empty", empty)]
            .filter { $0.1 != 0 }.map { "\($0.0) \($0.1)" }
        let why = counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))"
        guard let successful, (0...Int64(sent)).contains(successful) else {
            return "some of \(sent) lines refused\(why)"
        }
        return "\(Int64(sent) - successful) of \(sent) lines refused\(why)"
    }
}
