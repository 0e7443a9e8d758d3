package import HTTPShipping
package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Inserts records into a table of ClickHouse, over HTTP.
package struct ClickHouseShipper: Shipper, ~Copyable, Sendable {
    package static var kind: String { "clickhouse" }

    private let settings: ClickHouseSettings
    private let payload = ClickHousePayload()
    private let now: @Sendable () -> Timestamp
    private var credential: Credential
    private var sender: HTTPSender

    package init(
        _ settings: ClickHouseSettings, credential: Credential, cancellation: HTTPCancellation? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.settings = settings
        self.credential = credential
        self.now = now
        sender = HTTPSender(settings.http, cancellation: cancellation)
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] { payload.line(of: record) }

    package func line(of summary: OutboundSummary) -> [UInt8] { payload.line(of: summary) }

    /// A store of the team's own takes what the daemon takes, so there is nothing to cut.
    package func cut(_ line: [UInt8]) -> [UInt8]? { nil }

    package mutating func send(_ lines: [[UInt8]]) -> DeliveryAnswer {
        let answer = ClickHouseAnswer(origin: settings.http.address.origin, token: credential.token)
        guard !credential.isMissing else {
            return DeliveryAnswer(.paused(.noCredential), AnswerSummary("there is no credential to send with"))
        }
        let insert = "INSERT INTO \(Self.quoted(settings.database)).\(Self.quoted(settings.table)) FORMAT JSONEachRow"
        do throws(HTTPTransferError) {
            let response = try sender.post(
                LineList.lines(lines), type: "application/octet-stream",
                query: "query=\(PercentEncoding.encode(insert))", headers: headers)
            return answer.meaning(of: response, count: lines.count, at: now())
        } catch {
            return answer.meaning(of: error)
        }
    }

    private var headers: HTTPHeaders {
        var headers: HTTPHeaders = ["X-ClickHouse-User": settings.user]
        if let token = credential.token { headers.append(name: "X-ClickHouse-Key", value: token.text) }
        return headers
    }

    private static func quoted(_ name: String) -> String {
        "`\(name.replacing("\\", with: "\\\\").replacing("`", with: "\\`"))`"
    }

    package mutating func rereadCredential() -> Bool { credential.reread() }

    package mutating func reaches() -> Bool { sender.reaches() }
}
