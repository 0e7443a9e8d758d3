package import HTTPShipping
package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Says what an answer of an OTLP/HTTP receiver means.
///
/// Source: the OpenTelemetry protocol's specification, "OTLP/HTTP Response": a
/// partial success says how many records were rejected, never which, and must
/// not be sent again; 429, 502, 503 and 504 may be, 400 may not.
package struct OTLPAnswer: Sendable {
    private let reader: AnswerReader

    package init(origin: String, token: ShippingToken?) {
        reader = AnswerReader(origin: origin, token: token)
    }

    package func meaning(of error: HTTPTransferError) -> DeliveryAnswer { reader.meaning(of: error) }

    package func meaning(of response: HTTPResponse, count: Int, at now: Timestamp) -> DeliveryAnswer {
        let (verdict, text) = verdict(of: response, count: count, at: now)
        return DeliveryAnswer(verdict, AnswerSummary(text), mayHaveArrivedTwice: response.mayHaveArrivedTwice)
    }

    private func verdict(of response: HTTPResponse, count: Int, at now: Timestamp) -> (DeliveryVerdict, String) {
        if let verdict = reader.verdict(of: response, at: now) { return (verdict, reader.text(of: response)) }
        guard response.status != 400 else {
            return (.partial(PartialAnswer(successful: 0)), reader.text(of: response))
        }
        let partial = (try? JSONValue(json: response.body))?["partialSuccess"]
        let rejected = Self.integer(partial?["rejectedLogRecords"]) ?? 0
        let message = partial?["errorMessage"]?.asString ?? ""
        let said = message.isEmpty ? "" : ": \(reader.scrubbed(message))"
        guard rejected > 0 else {
            return (.accepted, "\(response.status): \(AnswerReader.count(count)) taken\(said)")
        }
        let words = "\(response.status): \(rejected) of \(count) rejected\(said)"
        if rejected >= count {
            return (.partial(PartialAnswer(successful: 0, suspects: Array(0..<count))), words)
        }
        // Which of them arrived nobody says, and they must not be sent again.
        return (.unconfirmed, words)
    }

    /// A 64-bit integer is a text in this encoding, and some write a number.
    private static func integer(_ value: JSONValue?) -> Int? {
        (value?.asInteger ?? value?.asString.flatMap { Int64($0) }).flatMap { Int(exactly: $0) }
    }
}
