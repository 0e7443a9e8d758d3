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

    /// A 64-bit integer is a text in this encoding, and some write a number.
    private static func integer(_ value: JSONValue?) -> Int? {
        (value?.asInteger ?? value?.asString.flatMap { Int64($0) }).flatMap { Int(exactly: $0) }
    }
}
