package import HTTPShipping
package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Says what an answer of Logz.io means for the lines it answers.
package struct LogzAnswer: Sendable {
    private let reader: AnswerReader

    /// - Parameter origin: Host and port, for people: a wrong region is answered as a wrong token is.
    package init(origin: String, token: ShippingToken?) {
        reader = AnswerReader(origin: origin, token: token)
    }

    package func meaning(of response: HTTPResponse, to lines: [[UInt8]], at now: Timestamp) -> DeliveryAnswer {
        let (verdict, text) = verdict(of: response, to: lines, at: now)
        return DeliveryAnswer(verdict, AnswerSummary(text), mayHaveArrivedTwice: response.mayHaveArrivedTwice)
    }

    /// What it means that no answer came.
    package func meaning(of error: HTTPTransferError) -> DeliveryAnswer { reader.meaning(of: error) }

    private func verdict(
        of response: HTTPResponse, to lines: [[UInt8]], at now: Timestamp
    ) -> (DeliveryVerdict, String) {
        let count = AnswerReader.count(lines.count)
        guard let verdict = reader.verdict(of: response, at: now) else {
            return response.status == 400
                ? refusal(response, of: lines) : (.accepted, "\(response.status): \(count) taken")
        }
        switch response.status {
        case 300..<400: return (verdict, reader.text(of: response, ifSilent: "a redirect, which is never followed"))
        case 413: return (verdict, reader.text(of: response, ifSilent: "too large with \(count)"))
        default: return (verdict, reader.text(of: response))
        }
    }

    private func refusal(_ response: HTTPResponse, of lines: [[UInt8]]) -> (DeliveryVerdict, String) {
        guard let counters = RefusalCounters(response.body) else {
            let text = reader.text(of: response, ifSilent: "lines refused, none counted")
            return (.partial(PartialAnswer(successful: nil)), text)
        }
        let successful = counters.successful.flatMap { Int(exactly: $0) }
        let answer = PartialAnswer(successful: successful, suspects: LineCheck.suspects(in: lines))
        return (.partial(answer), "400: \(counters.text(of: lines.count))")
    }
}
