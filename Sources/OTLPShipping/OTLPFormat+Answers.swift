package import HTTPShipping
package import HTTPTransfer
package import IssueCore
import IssueProtocol

extension OTLPFormat {
    /// Source: the OpenTelemetry protocol's specification, "OTLP/HTTP Response": a partial success says how many
    /// records were rejected, never which, and must not be sent again; 429, 502, 503 and 504 may be, 400 may not.
    package static func reading(
        of response: HTTPResponse, to lines: SentLines, by reader: AnswerReader
    ) -> AnswerReading? {
        guard (200..<300).contains(response.status) else { return nil }
        guard isOfReceiver(response) else {
            return AnswerReading(
                .paused(.notFound), reader.text(of: response, saying: "not an answer of an OTLP receiver"))
        }
        let partial = (try? JSONValue(json: response.body))?["partialSuccess"]
        let rejected = integer(partial?["rejectedLogRecords"]) ?? 0
        let message = partial?["errorMessage"]?.asString ?? ""
        let said = message.isEmpty ? "" : ": \(reader.scrubbed(message))"
        guard rejected > 0 else {
            return AnswerReading(.accepted, "\(response.status): \(AnswerReader.count(lines.count)) taken\(said)")
        }
        let words = "\(response.status): \(rejected) of \(lines.count) rejected\(said)"
        if rejected >= lines.count {
            return AnswerReading(.partial(PartialAnswer(successful: 0, suspects: Array(0..<lines.count))), words)
        }
        // Which of them arrived nobody says, and they must not be sent again.
        return AnswerReading(.unconfirmed, words, rejected: rejected)
    }

    /// The answer must be a message in JSON, as the request was. Receivers in use leave it empty where all is well, so that
    /// much is let pass; a page is none.
    private static func isOfReceiver(_ response: HTTPResponse) -> Bool {
        let type = response.headers["Content-Type"]?.lowercased() ?? ""
        if type.hasPrefix("text/html") { return false }
        if response.body.isEmpty || type.hasPrefix("application/x-protobuf") { return true }
        return (try? JSONValue(json: response.body))?.asObject != nil
    }

    /// A 64-bit integer is a text in this encoding, and some write a number.
    private static func integer(_ value: JSONValue?) -> Int? {
        (value?.asInteger ?? value?.asString.flatMap { Int64($0) }).flatMap { Int(exactly: $0) }
    }
}
