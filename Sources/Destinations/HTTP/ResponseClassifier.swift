package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Classifies the responses of a destination by HTTP status, and describes them for users.
package struct ResponseClassifier {
    /// More than is shown in any script.
    private static let shownBytes = ResponseSummary.maxCharacters * 8

    /// libcurl reads these from the environment and sends them to a proxy.
    private static let proxyPasswords = ProxyName.environmentPasswords().compactMap { ShippingToken($0) }

    private let origin: String
    private let scrubber: TokenScrubber
    /// The lines that were sent, which must not appear in messages.
    private var lines: RequestLines?

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - origin: The host and port, for messages.
    ///   - token: The credential, which must not appear in messages.
    package init(origin: String, token: ShippingToken?) {
        self.origin = origin
        scrubber = TokenScrubber(token, others: Self.proxyPasswords)
    }

    /// Returns the meaning of a response for the lines that were sent.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - lines: The lines that were sent.
    ///   - format: The format of the destination.
    ///   - now: The current time.
    package func meaning<Format: HTTPFormat>(
        of response: HTTPResponse, to lines: RequestLines, in format: Format.Type, at now: Timestamp
    ) -> DeliveryResult {
        var reader = self
        reader.lines = lines
        let reading =
            format.reading(of: response, to: lines, by: reader) ?? reader.usual(response, count: lines.count, at: now)
        return DeliveryResult(
            reading.verdict, ResponseSummary(reading.text), rejected: reading.rejected,
            mayHaveArrivedTwice: response.mayHaveArrivedTwice)
    }

    /// Returns the meaning of a response by its status alone.
    private func usual(_ response: HTTPResponse, count: Int, at now: Timestamp) -> ClassifiedResponse {
        let silence =
            switch response.status {
            case 300..<400: "redirects are not followed"
            case 413: "request of \(Self.count(count)) too large"
            default: ""
            }
        guard (200..<300).contains(response.status) else {
            return ClassifiedResponse(verdict(of: response, at: now), text(of: response, ifSilent: silence))
        }
        return ClassifiedResponse(.accepted, "\(response.status): \(Self.count(count)) accepted")
    }

    private func verdict(of response: HTTPResponse, at now: Timestamp) -> DeliveryVerdict {
        let retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.duration($0, at: now) }
        return switch response.status {
        // A body that cannot be parsed is rejected as a whole.
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
        // Any other client error: this address does not accept lines, and the lines are not at fault.
        case 400..<500: .paused(.methodNotAllowed)
        case 503: .again(.overloaded, retryAfter: retryAfter)
        default: .again(.serverError, retryAfter: retryAfter)
        }
    }

    /// Returns the meaning of a request that got no response.
    package func meaning(of error: HTTPTransferError) -> DeliveryResult {
        DeliveryResult(error.verdict, ResponseSummary(scrubbed(error.message)))
    }

    /// Returns a text of the destination without parts of the credential and of the lines that were sent.
    package func scrubbed(_ text: String) -> String {
        withoutEcho(scrubber.scrub(Array(text.utf8), toBytes: Self.shownBytes))
    }

    private func withoutEcho(_ text: String) -> String { lines.map { EchoFilter.cut(text, of: $0) } ?? text }

    /// Returns the status, its sender, and the beginning of the response body.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - otherwise: The text to use if the body is empty.
    package func text(of response: HTTPResponse, ifSilent otherwise: String = "") -> String {
        let body = scrubber.scrub(response.body, toBytes: Self.shownBytes)
        // The beginning of an HTML page contains no useful text.
        let isPage = body.first { !$0.isWhitespace } == "<"
        let said = isPage ? "" : withoutEcho(body).prefix(ResponseSummary.maxCharacters)
        let words = said.split { $0.isWhitespace || $0.unicodeScalars.first?.properties.generalCategory == .control }
        return text(of: response, saying: words.isEmpty ? otherwise : words.joined(separator: " "))
    }

    /// Returns the status, its sender, and a text of our own.
    package func text(of response: HTTPResponse, saying words: String) -> String {
        let speaker = response.status == 407 ? "the proxy for \(origin)" : origin
        return "\(response.status) from \(speaker)\(words.isEmpty ? "" : ": \(words)")"
    }

    /// Returns a number of lines as text, such as `1 line` or `2 lines`.
    package static func count(_ lines: Int) -> String { lines == 1 ? "1 line" : "\(lines) lines" }
}

/// The classification of a response and its description.
package struct ClassifiedResponse: Equatable, Sendable {
    package var verdict: DeliveryVerdict
    package var text: String
    /// The number of lines that were rejected without being named.
    package var rejected: Int

    package init(_ verdict: DeliveryVerdict, _ text: String, rejected: Int = 0) {
        self.verdict = verdict
        self.text = text
        self.rejected = rejected
    }
}

extension HTTPTransferError {
    /// The meaning of the failure for the records.
    package var verdict: DeliveryVerdict {
        if bodyFullySent { return .ambiguous(.noAnswer) }
        return switch code {
        case .invalidRequest: .paused(.notFound)
        case .resolve, .proxy: .again(.unreachable, retryAfter: nil)
        case .refused: .again(.refused, retryAfter: nil)
        case .connectTimeout: .again(.timeout, retryAfter: nil)
        case .tls: .again(.tls, retryAfter: nil)
        // The host can be reached, so a test connection would tell nothing new.
        case .timeout, .connectionLost, .cancelled, .other: .again(.reset, retryAfter: nil)
        case .malformedAnswer: .again(.serverError, retryAfter: nil)
        }
    }
}

/// Parses a `Retry-After` header: seconds, or a date in one of the three formats of HTTP.
package enum RetryAfter {
    /// The maximum wait in seconds. Callers apply a lower limit of their own.
    private static let most: Int64 = 365 * 86_400

    /// Returns the requested wait; nil if the value is invalid.
    package static func duration(_ value: String, at now: Timestamp) -> Duration? {
        let text = value.split(separator: " ").joined(separator: " ")
        if !text.isEmpty, text.utf8.allSatisfy(isDigit) {
            return .seconds(min(Int64(text) ?? most, most))
        }
        guard let moment = moment(text, at: now) else { return nil }
        return .milliseconds(min(max(0, moment.milliseconds - now.milliseconds), most * 1000))
    }

    private static func moment(_ text: String, at now: Timestamp) -> Timestamp? {
        let words = text.split(separator: " ")
        switch words.count {
        case 6 where words[5] == "GMT":
            // Sun, 06 Nov 1994 08:49:37 GMT
            return moment(year: words[3], month: words[2], day: words[1], time: words[4])
        case 5:
            // Sun Nov  6 08:49:37 1994
            return moment(year: words[4], month: words[1], day: words[2], time: words[3])
        case 4 where words[3] == "GMT":
            // Sunday, 06-Nov-94 08:49:37 GMT
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard date.count == 3, date[2].utf8.count == 2, let short = number(date[2]) else { return nil }
            return moment(year: "\(century(of: short, at: now) + short)", month: date[1], day: date[0], time: words[2])
        default:
            return nil
        }
    }

    /// Returns the century of a two-digit year. A year more than 50 years ahead is taken as past.
    private static func century(of short: Int64, at now: Timestamp) -> Int64 {
        let year = number(now.text.prefix(4)) ?? 2000
        let century = year / 100 * 100
        return century + short > year + 50 ? century - 100 : century
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func moment(
        year: some StringProtocol, month: some StringProtocol, day: some StringProtocol, time: some StringProtocol
    ) -> Timestamp? {
        guard let month = months.firstIndex(where: { $0 == month }), let day = number(day) else { return nil }
        return Timestamp("\(year)-\(padded(Int64(month + 1)))-\(padded(day))T\(time)Z")
    }

    private static func padded(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func number(_ text: some StringProtocol) -> Int64? {
        text.utf8.allSatisfy(isDigit) ? Int64(text) : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

/// Removes text that a destination's response repeats from the lines it was sent. The lines contain data of the
/// applications, and responses are shown to readers of the log.
///
/// Takes time linear in the size of the response and the lines.
struct EchoFilter {
    /// The minimum number of matching bytes that cannot be a coincidence.
    private static let least = 16
    private static let width = 8
    private static let mark = "…"

    /// For each sequence of eight bytes that was not found yet, the index at which it ends last in the text.
    private var lastPlaces: [UInt64: Int] = [:]
    /// For each index, the previous index at which the same sequence ends; -1 for none.
    private var earlierPlaces: [Int]
    /// For each hash slot, the number of sequences that were not found yet. Most sequences of the lines are not in the
    /// text, and an empty slot shows that quickly.
    private var pending = [UInt16](repeating: 0, count: 1 << 16)
    private var isMet: [Bool]

    /// Returns a text without the parts that also occur in the lines.
    static func cut(_ text: String, of lines: RequestLines) -> String {
        let bytes = Array(text.utf8)
        guard bytes.count >= least else { return text }
        precondition(bytes.count <= UInt16.max, "The text must be cut before it is compared with the lines")
        var filter = EchoFilter(bytes)
        for line in lines.all {
            if filter.lastPlaces.isEmpty { break }
            filter.look(through: line)
        }
        return filter.rest(of: bytes)
    }

    private init(_ text: [UInt8]) {
        isMet = [Bool](repeating: false, count: text.count)
        earlierPlaces = [Int](repeating: -1, count: text.count)
        var piece: UInt64 = 0
        for (index, byte) in text.enumerated() {
            piece = piece << 8 | UInt64(byte)
            guard index + 1 >= Self.width else { continue }
            if let earlier = lastPlaces.updateValue(index, forKey: piece) {
                earlierPlaces[index] = earlier
            } else {
                pending[Self.slot(of: piece)] += 1
            }
        }
    }

    private mutating func look(through line: [UInt8]) {
        var piece: UInt64 = 0
        for (index, byte) in line.enumerated() {
            piece = piece << 8 | UInt64(byte)
            let slot = Self.slot(of: piece)
            // Each sequence is looked up once only, however often the lines repeat it.
            guard pending[slot] > 0, index + 1 >= Self.width, var place = lastPlaces.removeValue(forKey: piece) else {
                continue
            }
            pending[slot] -= 1
            while place >= 0 {
                isMet[place] = true
                place = earlierPlaces[place]
            }
        }
    }

    private static func slot(of piece: UInt64) -> Int { Int((piece &* 0x9E37_79B9_7F4A_7C15) >> 48) }

    /// Returns the text with a mark instead of each matching run that is long enough.
    private func rest(of text: [UInt8]) -> String {
        var rest: [UInt8] = []
        var copied = 0
        var end = 0
        while end < text.count {
            guard isMet[end] else {
                end += 1
                continue
            }
            let start = end + 1 - Self.width
            while end < text.count, isMet[end] { end += 1 }
            guard end - start >= Self.least else { continue }
            rest += text[copied..<max(copied, start)] + Array(Self.mark.utf8)
            copied = end
        }
        return String(decoding: rest + text[copied...], as: UTF8.self)
    }
}
