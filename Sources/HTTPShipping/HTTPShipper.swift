package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Sends lines to a destination over HTTP, in the form that is its own.
package struct HTTPShipper<Format: HTTPFormat>: Shipper, ~Copyable, Sendable {
    package static var kind: String { Format.kind }

    private let format: Format
    private let now: @Sendable () -> Timestamp
    private var credential: Credential
    private var sender: HTTPSender

    /// - Parameter now: The wall clock, against which a destination's dates are held.
    package init(
        _ format: Format, credential: Credential, cancellation: HTTPCancellation? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.format = format
        self.credential = credential
        self.now = now
        sender = HTTPSender(format.http, cancellation: cancellation)
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        format.line(of: record, types: &types)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] { format.line(of: summary) }

    package func cut(_ line: [UInt8]) -> [UInt8]? { format.cut(line) }

    package func prepare() -> (any PreparedBody)? { sender.press(Format.frame) }

    package mutating func send(_ lines: [[UInt8]], prepared: (any PreparedBody)?) -> DeliveryAnswer {
        guard !credential.isMissing else { return Credential.missing }
        let reader = AnswerReader(origin: format.http.address.origin, token: credential.token)
        do throws(HTTPTransferError) {
            let compressed = (prepared as? BodyPress)?.finished(lines.count)
            let response = try sender.post(format.post(token: credential.token), compressed: compressed) {
                Format.frame.body(of: lines)
            }
            return reader.meaning(of: response, to: lines, in: Format.self, at: now())
        } catch {
            return reader.meaning(of: error)
        }
    }

    package mutating func rereadCredential() -> Bool { credential.reread() }

    package mutating func reaches() -> Bool { sender.reaches() }
}
