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
