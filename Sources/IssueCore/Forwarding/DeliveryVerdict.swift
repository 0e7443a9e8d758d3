/// What a destination's answer means for the records that were sent.
package enum DeliveryVerdict: Equatable, Sendable {
    case accepted
    /// All was sent, and this destination never says whether it arrived.
    case unconfirmed
    /// Some of them are refused for good; sending them all again unchanged would do no good.
    case partial(PartialAnswer)
    /// Nothing is wrong with the records: someone has to set something right.
    case paused(PauseReason)
    /// The request as a whole is too large.
    case tooLarge
    /// Later, in the same form.
    case again(FailureClass, retryAfter: Duration?)
    /// All was sent and no answer came: later in the same form, and it may be there twice then.
    case ambiguous(FailureClass)

    /// Whether nothing has left for the destination.
    package var isUnsent: Bool {
        switch self {
        case .again(let failure, _): !failure.isReached
        case .paused(let reason): reason == .noCredential
        case .accepted, .unconfirmed, .partial, .tooLarge, .ambiguous: false
        }
    }
}

/// A verdict, and the answer it comes from in words.
package struct DeliveryResult: Equatable, Sendable {
    package var verdict: DeliveryVerdict
    package var summary: ResponseSummary
    /// The request was made twice before this answer came, so whatever was taken may be there twice.
    package var mayHaveArrivedTwice: Bool

    /// How many lines were rejected without being named.
    package var rejected: Int

    package init(
        _ verdict: DeliveryVerdict, _ summary: ResponseSummary, rejected: Int = 0, mayHaveArrivedTwice: Bool = false
    ) {
        self.verdict = verdict
        self.summary = summary
        self.rejected = rejected
        self.mayHaveArrivedTwice = mayHaveArrivedTwice
    }
}

/// What a destination answered, in words for people; never its address, which may hold the token.
package struct ResponseSummary: Hashable, Sendable, CustomStringConvertible {
    package static let maxCharacters = 300

    package let text: String

    /// - Note: Control characters of a foreign answer have no business in a terminal or a log.
    package init(_ text: String) {
        let printable = text.unicodeScalars.lazy.map { scalar in
            scalar.properties.generalCategory == .control ? " " : Character(scalar)
        }
        self.text = String(String(printable.prefix(Self.maxCharacters * 4)).prefix(Self.maxCharacters))
    }

    package var description: String { text }

    /// Returns the HTTP status code with which a summary of an answer begins, or nil when no answer came.
    package static func statusCode(of summary: String) -> String? {
        let digits = summary.utf8.prefix { (0x30...0x39).contains($0) }
        return digits.count == 3 ? String(decoding: Array(digits), as: UTF8.self) : nil
    }
}

/// Why a request has to be made again.
package enum FailureClass: String, CaseIterable, Hashable, Sendable {
    /// 408.
    case requestTimeout = "request_timeout"
    /// 425.
    case tooEarly = "too_early"
    /// 429.
    case tooManyRequests = "too_many_requests"
    /// 503.
    case overloaded
    /// Any other 5xx.
    case serverError = "server_error"
    case refused
    case reset
    /// No connection, or no name, in time.
    case timeout
    case unreachable
    case tls
    /// All was sent and no answer came, so it may have been taken.
    case noAnswer = "no_answer"

    /// The destination asks for less.
    var slowsDown: Bool {
        switch self {
        case .tooManyRequests, .overloaded: true
        case .requestTimeout, .tooEarly, .serverError, .refused, .reset, .timeout, .unreachable, .tls, .noAnswer: false
        }
    }

    /// No answer came, and that may have taken as long as a request may take.
    var mayHang: Bool {
        switch self {
        case .reset, .timeout, .unreachable, .noAnswer: true
        case .requestTimeout, .tooEarly, .tooManyRequests, .overloaded, .serverError, .refused, .tls: false
        }
    }

    /// The sender is at fault itself, by coming too often: it has to come less often.
    var asksForPatience: Bool {
        switch self {
        case .tooManyRequests: true
        case .requestTimeout, .tooEarly, .overloaded, .serverError, .refused, .reset, .timeout, .unreachable, .tls,
            .noAnswer:
            false
        }
    }

    /// A connection that can be trusted came about.
    package var isReached: Bool {
        switch self {
        case .requestTimeout, .tooEarly, .tooManyRequests, .overloaded, .serverError, .reset, .noAnswer: true
        case .refused, .timeout, .unreachable, .tls: false
        }
    }
}

/// Why a destination is left alone until someone does something about it.
package enum PauseReason: String, CaseIterable, Hashable, Sendable {
    /// 401.
    case unauthorised
    /// 403.
    case forbidden
    /// 404.
    case notFound = "not_found"
    /// 405.
    case methodNotAllowed = "method_not_allowed"
    /// 3xx, which is never followed: the token would go where nobody meant it to.
    case redirected
    /// 407, which only a proxy gives.
    case proxyRefuses = "proxy_refuses"
    /// So many lines were refused that the fault is probably ours or the destination's, not theirs.
    case manyLinesRefused = "many_lines_refused"
    /// There is no credential to send with.
    case noCredential = "no_credential"

    /// What to do about it, where a kind of destination knows nothing better.
    package var advice: String {
        switch self {
        case .unauthorised:
            "The credential is not accepted: replace it. A file is read again; systemd's needs a restart."
        case .forbidden:
            "The destination refuses this sender: check the account, its rights and its allowed addresses."
        case .notFound: "There is no such address at the destination: check URL=."
        case .methodNotAllowed: "The address does not take records: check URL=."
        case .redirected: "The destination answers with a redirect, which is never followed: check URL=."
        case .proxyRefuses:
            "The proxy does not let this host through: check Proxy= or the environment's http_proxy. Does it want a password?"
        case .manyLinesRefused:
            "The destination refuses most lines of a batch, so none of them is given up: see its last answer, and the account's limits and field types."
        case .noCredential: "There is no credential: provide the file that Credential= names."
        }
    }
}

/// Why a record is given up for a destination.
package enum DeadLetterReason: String, CaseIterable, Hashable, Sendable {
    /// It was refused when it was sent alone.
    case refused
    /// It is too large even after it was cut.
    case tooLarge = "too_large"
    /// `RetryFor` is over.
    case retriesExpired = "retries_expired"
}
