package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// What a destination's answer means, as far as HTTP itself says it, and how it is told to people.
package struct AnswerReader {
    /// More than is shown, in whatever script.
    private static let shownBytes = AnswerSummary.mostCharacters * 8

    /// libcurl reads the environment on its own and sends these to a proxy.
    private static let proxyPasswords = ProxyName.environmentPasswords().compactMap { ShippingToken($0) }

    private let origin: String
    private let scrubber: TokenScrubber
    /// What is being answered, of which nothing must be told either.
    private var lines: SentLines?

    /// - Parameter origin: Host and port, for people.
    /// - Parameter token: What must not be told, whatever the destination says.
    package init(origin: String, token: ShippingToken?) {
        self.origin = origin
        scrubber = TokenScrubber(token, others: Self.proxyPasswords)
    }

    /// What an answer means for the lines that it answers.
    package func meaning<Format: HTTPFormat>(
        of response: HTTPResponse, to lines: SentLines, in format: Format.Type, at now: Timestamp
    ) -> DeliveryAnswer {
        var reader = self
        reader.lines = lines
        let reading =
            format.reading(of: response, to: lines, by: reader) ?? reader.usual(response, count: lines.count, at: now)
        return DeliveryAnswer(
            reading.verdict, AnswerSummary(reading.text), rejected: reading.rejected,
            mayHaveArrivedTwice: response.mayHaveArrivedTwice)
    }

    /// What it means as far as the status says it.
    private func usual(_ response: HTTPResponse, count: Int, at now: Timestamp) -> AnswerReading {
        let silence =
            switch response.status {
            case 300..<400: "a redirect, which is never followed"
            case 413: "too large with \(Self.count(count))"
            default: ""
            }
        guard (200..<300).contains(response.status) else {
            return AnswerReading(verdict(of: response, at: now), text(of: response, ifSilent: silence))
        }
        return AnswerReading(.accepted, "\(response.status): \(Self.count(count)) taken")
    }

    private func verdict(of response: HTTPResponse, at now: Timestamp) -> DeliveryVerdict {
        let retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.duration($0, at: now) }
        return switch response.status {
        // Of a body that can't be read, nothing is taken.
        case 400: .partial(PartialAnswer(successful: 0))
        case 300..<400: .paused(.redirected)
        case 401: .paused(.unauthorised)
        case 402, 403, 451: .paused(.forbidden)
        case 404, 410: .paused(.notFound)
        case 407: .paused(.proxyRefuses)
        case 408: .again(.requestTimeout, retryAfter: retryAfter)
        case 413: .tooLarge
        case 425: .again(.tooEarly, retryAfter: retryAfter)
        case 429: .again(.tooManyRequests, retryAfter: retryAfter)
        // Whatever it is, it is not a place that takes lines, and nothing is wrong with them.
        case 400..<500: .paused(.methodNotAllowed)
        case 503: .again(.overloaded, retryAfter: retryAfter)
        default: .again(.serverError, retryAfter: retryAfter)
        }
    }

    /// What it means that no answer came.
    package func meaning(of error: HTTPTransferError) -> DeliveryAnswer {
        DeliveryAnswer(error.verdict, AnswerSummary(scrubbed(error.sentence)))
    }

    /// A text of the destination without what it holds of the token and of what was sent.
    package func scrubbed(_ text: String) -> String {
        withoutEcho(scrubber.scrub(Array(text.utf8), toBytes: Self.shownBytes))
    }

    private func withoutEcho(_ text: String) -> String { lines.map { EchoFilter.cut(text, of: $0) } ?? text }

    /// The status, who gave it, and the first of what was said with it.
    package func text(of response: HTTPResponse, ifSilent otherwise: String = "") -> String {
        let body = scrubber.scrub(response.body, toBytes: Self.shownBytes)
        // A page of a proxy says nothing within its first characters.
        let isPage = body.first { !$0.isWhitespace } == "<"
        let said = isPage ? "" : withoutEcho(body).prefix(AnswerSummary.mostCharacters)
        let words = said.split { $0.isWhitespace || $0.unicodeScalars.first?.properties.generalCategory == .control }
        return text(of: response, saying: words.isEmpty ? otherwise : words.joined(separator: " "))
    }

    /// The status, who gave it, and our own words for it.
    package func text(of response: HTTPResponse, saying words: String) -> String {
        let speaker = response.status == 407 ? "the proxy before \(origin)" : origin
        return "\(response.status) from \(speaker)\(words.isEmpty ? "" : ": \(words)")"
    }

    package static func count(_ lines: Int) -> String { lines == 1 ? "1 line" : "\(lines) lines" }
}
