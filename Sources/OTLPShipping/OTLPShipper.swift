package import HTTPShipping
package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Sends records as logs over OTLP/HTTP, in JSON.
package struct OTLPShipper: Shipper, ~Copyable, Sendable {
    package static var kind: String { "otlp" }

    private let settings: OTLPSettings
    private let payload = OTLPPayload()
    private let now: @Sendable () -> Timestamp
    private var credential: Credential
    private var sender: HTTPSender

    package init(
        _ settings: OTLPSettings, credential: Credential, cancellation: HTTPCancellation? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.settings = settings
        self.credential = credential
        self.now = now
        sender = HTTPSender(settings.http, cancellation: cancellation)
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] { payload.line(of: record) }

    package func line(of summary: OutboundSummary) -> [UInt8] { payload.line(of: summary) }

    /// A collector of the team's own takes what the daemon takes, so there is nothing to cut.
    package func cut(_ line: [UInt8]) -> [UInt8]? { nil }

    package mutating func send(_ lines: [[UInt8]]) -> DeliveryAnswer {
        let answer = OTLPAnswer(origin: settings.http.address.origin, token: credential.token)
        guard !credential.isMissing else {
            return DeliveryAnswer(.paused(.noCredential), AnswerSummary("there is no credential to send with"))
        }
        let body = Array("{\"resourceLogs\":[".utf8) + LineList.elements(lines) + Array("]}".utf8)
        let headers: HTTPHeaders = credential.token.map { ["Authorization": "Bearer \($0.text)"] } ?? [:]
        do throws(HTTPTransferError) {
            let response = try sender.post(body, type: "application/json", headers: headers)
            return answer.meaning(of: response, count: lines.count, at: now())
        } catch {
            return answer.meaning(of: error)
        }
    }

    package mutating func rereadCredential() -> Bool { credential.reread() }

    package mutating func reaches() -> Bool { sender.reaches() }
}
