package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// What a destination's answer means, as far as HTTP itself says it, and how it is told to people.
package struct ResponseClassifier {
    /// More than is shown, in whatever script.
    private static let shownBytes = ResponseSummary.maxCharacters * 8

    /// libcurl reads the environment on its own and sends these to a proxy.
    private static let proxyPasswords = ProxyName.environmentPasswords().compactMap { ShippingToken($0) }

    private let origin: String
    private let scrubber: TokenScrubber
    /// What is being answered, of which nothing must be told either.
    private var lines: RequestLines?

    /// - Parameter origin: Host and port, for people.
    /// - Parameter token: What must not be told, whatever the destination says.
    package init(origin: String, token: ShippingToken?) {
        self.origin = origin
        scrubber = TokenScrubber(token, others: Self.proxyPasswords)
    }

    /// What an answer means for the lines that it answers.
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

    /// What it means as far as the status says it.
    private func usual(_ response: HTTPResponse, count: Int, at now: Timestamp) -> ClassifiedResponse {
        let silence =
            switch response.status {
            case 300..<400: "a redirect, which is never followed"
            case 413: "too large with \(Self.count(count))"
            default: ""
            }
        guard (200..<300).contains(response.status) else {
            return ClassifiedResponse(verdict(of: response, at: now), text(of: response, ifSilent: silence))
        }
        return ClassifiedResponse(.accepted, "\(response.status): \(Self.count(count)) taken")
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
    package func meaning(of error: HTTPTransferError) -> DeliveryResult {
        DeliveryResult(error.verdict, ResponseSummary(scrubbed(error.message)))
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
        let said = isPage ? "" : withoutEcho(body).prefix(ResponseSummary.maxCharacters)
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

/// What is read in an answer, for the forwarder and for people.
package struct ClassifiedResponse: Equatable, Sendable {
    package var verdict: DeliveryVerdict
    package var text: String
    /// How many lines were rejected without being named.
    package var rejected: Int

    package init(_ verdict: DeliveryVerdict, _ text: String, rejected: Int = 0) {
        self.verdict = verdict
        self.text = text
        self.rejected = rejected
    }
}

extension HTTPTransferError {
    /// What it means for the records that no answer came.
    package var verdict: DeliveryVerdict {
        if bodyFullySent { return .ambiguous(.noAnswer) }
        return switch code {
        case .invalidRequest: .paused(.notFound)
        case .resolve, .proxy: .again(.unreachable, retryAfter: nil)
        case .refused: .again(.refused, retryAfter: nil)
        case .connectTimeout: .again(.timeout, retryAfter: nil)
        case .tls: .again(.tls, retryAfter: nil)
        // A connection comes about, so one more would tell nothing new.
        case .timeout, .connectionLost, .cancelled, .other: .again(.reset, retryAfter: nil)
        case .malformedAnswer: .again(.serverError, retryAfter: nil)
        }
    }
}

/// Reads a `Retry-After` header: seconds, or a date in one of the three forms that HTTP knows.
package enum RetryAfter {
    /// As long as anybody may ask for; whoever reads this has a limit of their own.
    private static let most: Int64 = 365 * 86_400

    /// The wait that is asked for, or nothing where the value makes no sense.
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

    /// A year of two digits that would lie more than 50 years ahead is one of the past.
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

/// Removes from a destination's answer what it repeats of the lines that it was sent: those belong to the applications,
/// and an answer goes to readers of the log.
///
/// The work is linear in the length of the answer and of the lines.
struct EchoFilter {
    /// So many bytes in a row are no coincidence.
    private static let least = 16
    private static let width = 8
    private static let mark = "…"

    /// For each piece of eight bytes that was not met yet, where it ends last in the text.
    private var lastPlaces: [UInt64: Int] = [:]
    /// For each place, where the same piece ends before it; -1 for none.
    private var earlierPlaces: [Int]
    /// How many pieces that were not met yet fall into each slot. Most of what was sent is none of the pieces, and that
    /// is seen here at once.
    private var pending = [UInt16](repeating: 0, count: 1 << 16)
    private var isMet: [Bool]

    /// A text without what stands in the lines as well.
    static func cut(_ text: String, of lines: RequestLines) -> String {
        let bytes = Array(text.utf8)
        guard bytes.count >= least else { return text }
        precondition(bytes.count <= UInt16.max, "An answer is cut before it is compared with the lines")
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
            // A piece is looked for once only, however often the lines repeat it.
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

    /// The text with a mark in the place of each run of pieces that were met, if it is long enough.
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
