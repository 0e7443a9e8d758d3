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
