package import HTTPShipping
package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Sends lines to a listener of Logz.io.
package struct LogzShipper: Shipper, ~Copyable, Sendable {
    package static var kind: String { "logzio" }

    private let settings: LogzSettings
    private let payload: LogzPayload
    private let readToken: @Sendable () -> ShippingToken?
    private let now: @Sendable () -> Timestamp
    private var token: ShippingToken?
    private var sender: HTTPSender

    /// - Parameter readToken: Reads the credential anew, or answers nothing where there is none.
    /// - Parameter now: The wall clock, against which a listener's dates are held.
    package init(
        _ settings: LogzSettings, cancellation: HTTPCancellation? = nil, now: @escaping @Sendable () -> Timestamp,
        readToken: @escaping @Sendable () -> ShippingToken?
    ) {
        self.settings = settings
        self.now = now
        self.readToken = readToken
        payload = LogzPayload(type: settings.type, metadataKey: settings.metadataKey)
        token = readToken()
        sender = HTTPSender(settings.http, cancellation: cancellation)
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        payload.line(of: record, types: &types)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] {
        payload.line(of: summary)
    }

    package func cut(_ line: [UInt8]) -> [UInt8]? {
        payload.cut(line)
    }

    package mutating func send(_ lines: [[UInt8]]) -> DeliveryAnswer {
        let answer = LogzAnswer(origin: settings.http.address.origin, token: token)
        guard let token else {
            return DeliveryAnswer(.paused(.noCredential), AnswerSummary("there is no shipping token to send with"))
        }
        do throws(HTTPTransferError) {
            let query = "token=\(PercentEncoding.encode(token.text))&type=\(PercentEncoding.encode(settings.type))"
            let response = try sender.post(LineList.lines(lines), type: "text/plain", query: query)
            return answer.meaning(of: response, to: lines, at: now())
        } catch {
            return answer.meaning(of: error)
        }
    }

    package mutating func rereadCredential() -> Bool {
        let old = token
        token = readToken()
        return token != nil && token != old
    }

    package mutating func reaches() -> Bool { sender.reaches() }
}
