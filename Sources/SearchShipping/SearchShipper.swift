package import HTTPShipping
package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Sends records to Elasticsearch or OpenSearch, by `_bulk`.
package struct SearchShipper: Shipper, ~Copyable, Sendable {
    package static var kind: String { "elasticsearch" }

    private let settings: SearchSettings
    private let payload: SearchPayload
    private let now: @Sendable () -> Timestamp
    private var credential: Credential
    private var sender: HTTPSender

    package init(
        _ settings: SearchSettings, credential: Credential, cancellation: HTTPCancellation? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.settings = settings
        self.credential = credential
        self.now = now
        payload = SearchPayload(index: settings.index)
        sender = HTTPSender(settings.http, cancellation: cancellation)
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] { payload.line(of: record) }

    package func line(of summary: OutboundSummary) -> [UInt8] { payload.line(of: summary) }

    /// A store of the team's own takes what the daemon takes, so there is nothing to cut.
    package func cut(_ line: [UInt8]) -> [UInt8]? { nil }

    package mutating func send(_ lines: [[UInt8]]) -> DeliveryAnswer {
        let answer = SearchAnswer(origin: settings.http.address.origin, token: credential.token)
        guard !credential.isMissing else {
            return DeliveryAnswer(.paused(.noCredential), AnswerSummary("there is no credential to send with"))
        }
        do throws(HTTPTransferError) {
            let response = try sender.post(
                LineList.lines(lines), type: "application/x-ndjson", path: "_bulk", headers: headers)
            return answer.meaning(of: response, count: lines.count, at: now())
        } catch {
            return answer.meaning(of: error)
        }
    }

    private var headers: HTTPHeaders {
        guard let token = credential.token else { return [:] }
        guard let user = settings.user else { return ["Authorization": "ApiKey \(token.text)"] }
        return ["Authorization": "Basic \(Base64.encode(Array("\(user):\(token.text)".utf8)))"]
    }

    package mutating func rereadCredential() -> Bool { credential.reread() }

    package mutating func reaches() -> Bool { sender.reaches() }
}
