package import HTTPTransfer
package import IssueCore
package import IssueProtocol

// The texts below appear in the log. They never contain text of a response, because a response may contain a credential
// or parts of a record.

extension HTTPFormat {
    /// Returns the meaning of a response for the lines of the request.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - lines: The number of lines in the request.
    ///   - origin: The host and port of the destination.
    ///   - now: The current time, for dates in `Retry-After`.
    package static func result(
        of response: HTTPResponse, lines: Int, from origin: String, at now: IssueTimestamp
    ) -> DeliveryResult {
        var result =
            result(of: response, lines: lines)
            ?? DeliveryResult(statusOf: response, lines: lines, from: origin, at: now)
        result.mayHaveArrivedTwice = response.mayHaveArrivedTwice
        return result
    }
}

extension DeliveryResult {
    /// Classifies a response by its status and its `Retry-After` header.
    ///
    /// A 413 (`tooLarge`) makes the forwarder send the lines in halves (`Bisection`).
    ///
    /// - Parameter lines: The number of lines in the request; nil if the request does not consist of lines.
    init(statusOf response: HTTPResponse, lines: Int?, from origin: String, at now: IssueTimestamp) {
        let status = response.status
        let lines = lines.map { Self.count($0) }
        let sender = "\(origin)\(response.proxy.map { " or the proxy \($0)" } ?? "")"
        let verdict = DeliveryVerdict(status: status, retryAfter: response.retryAfter(at: now))
        let text =
            switch status {
            case 200..<300: "\(status): \(lines.map { "\($0) " } ?? "")accepted"
            case 300..<400: "\(status) from \(sender): redirects are not followed"
            case 407: "407 from the proxy for \(origin)"
            case 413: "413 from \(sender)\(lines.map { ": request of \($0) too large" } ?? "")"
            default: "\(status) from \(sender)"
            }
        self.init(verdict, ResponseSummary(text))
        mayHaveArrivedTwice = response.mayHaveArrivedTwice
    }

    /// Creates the result of a request that got no complete response, or of a failed transfer to a stream.
    package init(_ error: HTTPTransferError) {
        self.init(error.verdict, ResponseSummary(error.message))
    }

    /// Returns a number of lines as text, such as `1 line` or `2 lines`.
    static func count(_ lines: Int) -> String { lines == 1 ? "1 line" : "\(lines) lines" }
}

extension DeliveryVerdict {
    /// Returns the meaning of an HTTP status.
    ///
    /// - Parameters:
    ///   - status: The status of the response.
    ///   - retryAfter: The wait that the destination requested; nil if it requested none.
    init(status: Int, retryAfter: Duration? = nil) {
        self =
            switch status {
            case 200..<300: .accepted
            case 300..<400: .paused(.redirected)
            // A body that cannot be parsed is rejected as a whole.
            case 400: .partial(PartialAnswer(successful: 0))
            case 401: .paused(.unauthorised)
            case 402, 403, 451: .paused(.forbidden)
            case 404, 410: .paused(.notFound)
            case 407: .paused(.proxyRefuses)
            case 408: .again(.requestTimeout, retryAfter: retryAfter)
            case 413: .tooLarge
            case 425: .again(.tooEarly, retryAfter: retryAfter)
            case 429: .again(.tooManyRequests, retryAfter: retryAfter)
            // Any other client error is taken to mean that this address does not accept lines, whatever they contain.
            case 400..<500: .paused(.methodNotAllowed)
            case 503: .again(.overloaded, retryAfter: retryAfter)
            default: .again(.serverError, retryAfter: retryAfter)
            }
    }
}

extension HTTPResponse {
    /// The wait in the `Retry-After` header; nil if there is none, or if it is invalid.
    fileprivate func retryAfter(at now: IssueTimestamp) -> Duration? {
        headers["Retry-After"].flatMap { RetryAfter.duration($0, at: now) }
    }
}

extension HTTPTransferError {
    /// The meaning of the failure for the records.
    package var verdict: DeliveryVerdict {
        if bodyFullySent { return .ambiguous(.noAnswer) }
        return switch code {
        case .invalidRequest: .paused(.notFound)
        case .proxyAuthentication: .paused(.proxyRefuses)
        case .resolve, .proxy: .again(.unreachable, retryAfter: nil)
        case .refused: .again(.refused, retryAfter: nil)
        case .connectTimeout: .again(.timeout, retryAfter: nil)
        case .tls: .again(.tls, retryAfter: nil)
        // In most of these cases, the host was reached.
        case .timeout, .connectionLost, .cancelled, .other: .again(.reset, retryAfter: nil)
        case .malformedResponse: .again(.serverError, retryAfter: nil)
        }
    }
}

/// Parses a `Retry-After` header (seconds, or a date in one of the three formats of HTTP) or a `Date` header.
package enum RetryAfter {
    /// The maximum wait, in seconds. Callers limit the wait further.
    private static let maxRetryAfter: Int64 = 365 * 86_400

    /// Returns the requested wait; nil if the value is invalid.
    package static func duration(_ value: String, at now: IssueTimestamp) -> Duration? {
        let text = value.split(separator: " ").joined(separator: " ")
        if !text.isEmpty, text.utf8.allSatisfy(isDigit) {
            return .seconds(min(Int64(text) ?? maxRetryAfter, maxRetryAfter))
        }
        guard let moment = moment(text, at: now) else { return nil }
        return .milliseconds(
            min(max(0, moment.millisecondsSince1970 - now.millisecondsSince1970), maxRetryAfter * 1000))
    }

    /// Returns the time of a date in one of the three formats of HTTP; nil if it is invalid.
    package static func date(_ value: String, at now: IssueTimestamp) -> IssueTimestamp? {
        moment(value.split(separator: " ").joined(separator: " "), at: now)
    }

    private static func moment(_ text: String, at now: IssueTimestamp) -> IssueTimestamp? {
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

    /// Returns the first year of the century of a two-digit year. A year more than 50 years ahead is taken to be in the
    /// past.
    private static func century(of short: Int64, at now: IssueTimestamp) -> Int64 {
        let year = number(now.description.prefix(4)) ?? 2000
        let century = year / 100 * 100
        return century + short > year + 50 ? century - 100 : century
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func moment(
        year: some StringProtocol, month: some StringProtocol, day: some StringProtocol, time: some StringProtocol
    ) -> IssueTimestamp? {
        guard let month = months.firstIndex(where: { $0 == month }), let day = number(day) else { return nil }
        return IssueTimestamp("\(year)-\(padded(Int64(month + 1)))-\(padded(day))T\(time)Z")
    }

    private static func padded(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func number(_ text: some StringProtocol) -> Int64? {
        text.utf8.allSatisfy(isDigit) ? Int64(text) : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
