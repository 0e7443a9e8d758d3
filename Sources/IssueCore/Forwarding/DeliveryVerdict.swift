/// The meaning of a destination's response for the records that were sent.
package enum DeliveryVerdict: Equatable, Sendable {
    case accepted
    /// Everything was sent, but the destination does not confirm delivery, or rejected some records without stating
    /// which ones. Nothing is sent again.
    case unconfirmed
    /// Some or all records are refused permanently. Sending the same request again would not help.
    case partial(PartialAnswer)
    /// The records are fine, but an administrator must fix something.
    case paused(PauseReason)
    /// The request as a whole is too large.
    case tooLarge
    /// Send again later, unchanged.
    case again(FailureClass, retryAfter: Duration?)
    /// Everything was sent (or, over a stream, a part of it), but no usable response came. Send again later, unchanged;
    /// the records may arrive twice.
    case ambiguous(FailureClass)

    /// Whether it is certain that no part of the request was sent.
    package var isUnsent: Bool {
        switch self {
        case .again(let failure, _): !failure.isReached
        case .paused(let reason): reason == .noCredential
        case .accepted, .unconfirmed, .partial, .tooLarge, .ambiguous: false
        }
    }
}

/// A verdict, with a summary of the response it is based on.
package struct DeliveryResult: Equatable, Sendable {
    package var verdict: DeliveryVerdict
    package var summary: ResponseSummary
    /// Whether the request was made twice before this response, so accepted records may have arrived twice.
    package var mayHaveArrivedTwice: Bool

    /// If the verdict is `unconfirmed`, the number of lines that the destination rejected without identifying them;
    /// otherwise 0.
    package var rejected: Int
    /// The lines, as indexes in the part, that were not sent because their records were removed. A partial verdict
    /// counts them as accepted, but they say nothing about the destination.
    package private(set) var unsent = LineSet()

    package init(
        _ verdict: DeliveryVerdict, _ summary: ResponseSummary, rejected: Int = 0, mayHaveArrivedTwice: Bool = false
    ) {
        self.verdict = verdict
        self.summary = summary
        self.rejected = rejected
        self.mayHaveArrivedTwice = mayHaveArrivedTwice
    }

    /// Returns the result for a part from which some lines were not sent because their records were removed.
    ///
    /// - Parameters:
    ///   - count: The number of lines in the part.
    ///   - sent: The indexes, within the part, of the lines that were sent, in ascending order.
    package func ofPart(count: Int, sent: [Int]) -> DeliveryResult {
        var result = self
        result.unsent = LineSet.lines(missingFrom: sent, count: count)
        if case .partial(let answer) = verdict { result.verdict = .partial(answer.ofPart(count: count, sent: sent)) }
        return result
    }
}

/// A destination's response as text for people. Never contains the destination's URL, which may include the token.
package struct ResponseSummary: Hashable, Sendable, CustomStringConvertible {
    package static let maxCharacters = 300

    package let text: String

    /// Control characters are replaced with spaces, because the text is written to terminals and logs.
    package init(_ text: String) {
        let printable = text.unicodeScalars.lazy.map { scalar in
            scalar.properties.generalCategory == .control ? " " : Character(scalar)
        }
        self.text = String(String(printable.prefix(Self.maxCharacters * 4)).prefix(Self.maxCharacters))
    }

    package var description: String { text }

    /// Returns the HTTP status code at the start of a summary, or nil if it does not start with one.
    package static func statusCode(of summary: String) -> String? {
        let digits = summary.utf8.prefix { (0x30...0x39).contains($0) }
        return digits.count == 3 ? String(decoding: Array(digits), as: UTF8.self) : nil
    }
}

/// Why a request must be retried.
package enum FailureClass: String, CaseIterable, Hashable, Sendable {
    /// 408.
    case requestTimeout = "request_timeout"
    /// 425.
    case tooEarly = "too_early"
    /// 429, or an error with the same meaning.
    case tooManyRequests = "too_many_requests"
    /// 503, or an error with the same meaning.
    case overloaded
    /// Any other 5xx, or a response that is not valid HTTP.
    case serverError = "server_error"
    case refused
    case reset
    /// The connection or the name lookup timed out.
    case timeout
    case unreachable
    case tls
    /// Everything was sent (or, over a stream, a part of it), but no usable response came. The records may have
    /// arrived.
    case noAnswer = "no_answer"

    /// Whether the destination asks the sender to slow down.
    var slowsDown: Bool { self == .tooManyRequests || self == .overloaded }

    /// Whether the request may have failed because the sender's timeout for the connection or for the response elapsed.
    /// Not for a 408, which is a response.
    var mayHaveTimedOut: Bool {
        switch self {
        case .reset, .timeout, .unreachable, .noAnswer: true
        case .requestTimeout, .tooEarly, .tooManyRequests, .overloaded, .serverError, .refused, .tls: false
        }
    }

    /// Whether the destination was probably reached, but sent no usable response.
    var isWithoutResponse: Bool { self == .reset || self == .noAnswer }

    /// Whether the sender itself caused the failure by sending too often, so that it must wait longer.
    var isRateLimited: Bool { self == .tooManyRequests }

    /// Whether a trusted connection may have been established.
    package var isReached: Bool {
        switch self {
        case .requestTimeout, .tooEarly, .tooManyRequests, .overloaded, .serverError, .reset, .noAnswer: true
        case .refused, .timeout, .unreachable, .tls: false
        }
    }
}

/// Why sending to a destination is paused. Usually, an administrator must act before it can continue.
package enum PauseReason: String, CaseIterable, Hashable, Sendable {
    /// 401, or an error with the same meaning.
    case unauthorised
    /// 402, 403 or 451, or an error with the same meaning.
    case forbidden
    /// 404 or 410, an unknown table, an invalid URL, or a response that is not from this kind of destination.
    case notFound = "not_found"
    /// 405 or another 4xx: this address does not accept records. Also for a read-only table or user of ClickHouse.
    case methodNotAllowed = "method_not_allowed"
    /// 3xx. Redirects are never followed, since the token could be sent to the wrong server.
    case redirected
    /// 407, which only proxies send.
    case proxyRefuses = "proxy_refuses"
    /// Too many lines were refused. Probably, the lines are not the cause.
    case manyLinesRefused = "many_lines_refused"
    /// No credential is available.
    case noCredential = "no_credential"

    /// When a new credential is read, as a part of the advice on `unauthorised`.
    package static let rereading =
        "A file is read again within 15 minutes, or at once with issuectl flush; a systemd credential needs a restart."

    /// Advice for the administrator. Destination kinds may have more specific advice.
    package var advice: String {
        switch self {
        case .unauthorised:
            "The destination rejects the credential: replace it. \(Self.rereading)"
        case .forbidden:
            "The destination refuses this sender: check the account, its rights and its allowed addresses, or the proxy if the answer names one."
        case .notFound: "The destination does not know this URL: check URL=."
        case .methodNotAllowed: "The URL does not accept records: check URL=."
        case .redirected: "The destination responds with a redirect; redirects are never followed: check URL=."
        case .proxyRefuses:
            "The proxy refuses this host, or needs a password: check Proxy=. For a password, leave Proxy= unset and set https_proxy=, or http_proxy= without TLS, to http://USER:PASSWORD@HOST:PORT in the unit's environment."
        case .manyLinesRefused:
            "The destination refuses the majority of a batch, so nothing is given up: check the destination's last response and the account's limits and field types."
        case .noCredential: "No credential found: create the file named by Credential=."
        }
    }
}

/// Why a record is given up for a destination.
package enum DeadLetterReason: String, CaseIterable, Hashable, Sendable {
    /// The destination refused it or, when it was sent alone, repeatedly did not respond; see `Bisection`.
    case refused
    /// It is too large even after truncation.
    case tooLarge = "too_large"
    /// `RetryFor=` has elapsed.
    case retriesExpired = "retries_expired"
}
