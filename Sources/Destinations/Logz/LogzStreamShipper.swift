package import HTTPTransfer
package import IssueCore
import IssueProtocol

/// Writes lines to Logz.io's TLS listener, which never responds.
///
/// Logz.io no longer documents this listener. The token is a member of each line; it is added when the line is sent and
/// stored nowhere.
package struct LogzStreamShipper: Shipper, ~Copyable, Sendable {
    package static var kind: String { LogzFormat.kind }
    package static func advice(on reason: PauseReason) -> String { LogzFormat.advice(on: reason) }

    private let settings: LogzSettings
    private let payload: LogzPayload
    private var credential: Credential
    private var client: StreamClient
    private let sender: HTTPSender
    private var last = Credential.missing

    package init(
        _ settings: LogzSettings, cancellation: HTTPCancellation? = nil,
        readToken: @escaping @Sendable () -> ShippingToken?
    ) {
        self.settings = settings
        payload = LogzPayload(type: settings.type, metadataKey: settings.metadataKey)
        credential = Credential(readToken)
        client = StreamClient(cancellation: cancellation)
        sender = HTTPSender(settings.http, cancellation: cancellation)
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        payload.line(of: record, types: &types)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] { payload.line(of: summary) }

    package func cut(_ line: [UInt8]) -> [UInt8]? { payload.cut(line) }

    package func prepare() -> any PreparedBody { StreamLines() }

    package mutating func begin(_ body: any PreparedBody, within limit: Duration?) {
        last = (body as? StreamLines).map { send($0.lines, within: limit) } ?? Credential.missing
    }

    package func answer(to lines: RequestLines) -> DeliveryResult { last }

    private mutating func send(_ lines: [[UInt8]], within limit: Duration?) -> DeliveryResult {
        let reader = ResponseClassifier(origin: settings.http.address.origin, token: credential.token)
        guard let token = credential.token else {
            return Credential.missing
        }
        var head = Array("{\"token\":".utf8)
        head += JSONValue.string(token.text).json
        let body = BodyFrame.lines.body(of: lines.map { head + [UInt8(ascii: ",")] + $0.dropFirst() })
        do throws(HTTPTransferError) {
            try client.send(body, to: sender.request(within: limit))
            return DeliveryResult(
                .unconfirmed, ResponseSummary("\(ResponseClassifier.count(lines.count)) sent, unconfirmed"))
        } catch {
            return reader.meaning(of: error)
        }
    }

    package var lacksCredential: Bool { credential.isMissing }

    package mutating func rereadCredential() -> Bool { credential.reread() }
}

/// The lines for a stream. The token is added to each when it is sent.
final class StreamLines: PreparedBody {
    private(set) var lines: [[UInt8]] = []

    func add(_ line: [UInt8]) { lines.append(line) }
}

@available(*, unavailable)
extension StreamLines: Sendable {}
