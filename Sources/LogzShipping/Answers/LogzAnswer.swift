package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Says what an answer of Logz.io means for the lines it answers.
package struct LogzAnswer: Sendable {
    /// More than is shown, in whatever script.
    private static let shownBytes = AnswerSummary.mostCharacters * 8

    private let origin: String
    private let scrubber: TokenScrubber

    /// - Parameter origin: Host and port, for people: a wrong region is answered as a wrong token is.
    package init(origin: String, token: ShippingToken?) {
        self.origin = origin
        scrubber = TokenScrubber(token)
    }

    package func meaning(of response: HTTPResponse, to lines: [[UInt8]], at now: Timestamp) -> DeliveryAnswer {
        let (verdict, text) = verdict(of: response, to: lines, at: now)
        return DeliveryAnswer(verdict, AnswerSummary(text), mayHaveArrivedTwice: response.mayHaveArrivedTwice)
    }

    private func verdict(
        of response: HTTPResponse, to lines: [[UInt8]], at now: Timestamp
    ) -> (DeliveryVerdict, String) {
        let retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.duration($0, at: now) }
        switch response.status {
        case 200..<300: return (.accepted, "\(response.status): \(Self.count(lines)) taken")
        case 300..<400:
            return (.paused(.redirected), text(of: response, ifSilent: "a redirect, which is never followed"))
        case 400: return refusal(response, of: lines)
        case 401: return (.paused(.unauthorised), text(of: response))
        case 402, 403, 407, 451: return (.paused(.forbidden), text(of: response))
        case 404, 410: return (.paused(.notFound), text(of: response))
        case 408: return (.again(.requestTimeout, retryAfter: retryAfter), text(of: response))
        case 413: return (.tooLarge, text(of: response, ifSilent: "too large with \(Self.count(lines))"))
        case 425: return (.again(.tooEarly, retryAfter: retryAfter), text(of: response))
        case 429: return (.again(.tooManyRequests, retryAfter: retryAfter), text(of: response))
        // Whatever it is, it is not a place that takes lines, and nothing is wrong with them.
        case 400..<500: return (.paused(.methodNotAllowed), text(of: response))
        case 503: return (.again(.overloaded, retryAfter: retryAfter), text(of: response))
        default: return (.again(.serverError, retryAfter: retryAfter), text(of: response))
        }
    }

    private func refusal(_ response: HTTPResponse, of lines: [[UInt8]]) -> (DeliveryVerdict, String) {
        guard let counters = RefusalCounters(response.body) else {
            let text = text(of: response, ifSilent: "lines refused, none counted")
            return (.partial(PartialAnswer(successful: nil)), text)
        }
        let successful = counters.successful.flatMap { Int(exactly: $0) }
        let answer = PartialAnswer(successful: successful, suspects: LineCheck.suspects(in: lines))
        return (.partial(answer), "400: \(counters.text(of: lines.count))")
    }

    private static func count(_ lines: [[UInt8]]) -> String { lines.count == 1 ? "1 line" : "\(lines.count) lines" }

    /// What our own words hold of the token, which should be nothing.
    func scrubbed(_ text: String) -> String { scrubber.scrub(Array(text.utf8), toBytes: Self.shownBytes) }

    /// The status, who gave it, and the first of what was said with it.
    private func text(of response: HTTPResponse, ifSilent otherwise: String = "") -> String {
        let body = scrubber.scrub(response.body, toBytes: Self.shownBytes).prefix(AnswerSummary.mostCharacters)
        let words = body.split { $0.isWhitespace || $0.unicodeScalars.first?.properties.generalCategory == .control }
        // A page of a proxy says nothing within its first characters.
        let isPage = words.first?.hasPrefix("<") ?? false
        let said = words.isEmpty || isPage ? otherwise : words.joined(separator: " ")
        return "\(response.status) from \(origin)\(said.isEmpty ? "" : ": \(said)")"
    }
}
