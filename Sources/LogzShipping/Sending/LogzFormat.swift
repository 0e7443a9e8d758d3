package import HTTPShipping
package import HTTPTransfer
package import IssueCore

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
        of response: HTTPResponse, to lines: SentLines, by reader: AnswerReader
    ) -> AnswerReading? {
        guard response.status == 400 else { return nil }
        guard let counters = RefusalCounters(response.body) else {
            let text = reader.text(of: response, ifSilent: "lines refused, none counted")
            return AnswerReading(.partial(PartialAnswer(successful: nil)), text)
        }
        let successful = counters.successful.flatMap { Int(exactly: $0) }
        let answer = PartialAnswer(successful: successful, suspects: LineCheck.suspects(in: lines.all))
        return AnswerReading(.partial(answer), "400: \(counters.text(of: lines.count))")
    }
}
