/// A fault that the listener can simulate.
package enum Fault: Hashable, Sendable {
    /// The port is closed, for a time or until it is reopened.
    case down(for: Duration?)
    /// The port is bound, and no connection is accepted.
    case blackhole(for: Duration?)
    /// The port is open and closed in turn.
    case flap(up: Duration, down: Duration)
    /// The connection is accepted, but only the first byte of the request is read, and nothing is sent.
    case acceptSilent
    /// The request is read and its lines are accepted, but there is no response.
    case readSilent
    case slowAnswer(Duration)
    case slowRead(bytesPerSecond: Int)
    /// The response is sent byte by byte, with a pause after each.
    case drip(Duration)
    /// The given response, after the request was read. No lines are accepted.
    case status(Int, headers: [HTTPField], body: String)
    /// The first `after` requests of the plan are not affected. For the requests after them, as many as the step has
    /// `times`, all tokens are invalid.
    case authFlip(after: Int)
    case tooLargeLate
    /// A 413 before the body is read. Then the connection is reset or, without `reset`, closed without a reset.
    case tooLargeEarly(reset: Bool)
    case tooLargeAbove(bytes: Int)
    /// Lines that contain this text count as malformed.
    case poison(String)
    case allMalformed
    case badRequestWithoutBody
    case badRequestWithBadJSON
    case resetMidBody(after: Int)
    /// The lines are accepted, and the connection is reset instead of a response.
    case resetBeforeAnswer
    /// The connection is reset instead of a response to a request that contains this text, as by a firewall that
    /// examines requests. Other requests are not affected.
    case resetOn(String)
    case truncatedAnswer
    /// A response that is not HTTP.
    case garbage
    /// A 200 with a body of this size, or with an endless one if nil.
    case hugeAnswer(bytes: Int?)
    /// The usual response, after which the connection is closed or, with `crossing`, reset as soon as the next request
    /// begins.
    case keepAliveClose(crossing: Bool)

    /// Returns the fault that responds with a status, without headers and body.
    package static func status(_ code: Int) -> Fault {
        .status(code, headers: [], body: "")
    }

    /// The name of the fault in a plan.
    package var name: String {
        switch self {
        case .down: "down"
        case .blackhole: "blackhole"
        case .flap: "flap"
        case .acceptSilent: "accept_silent"
        case .readSilent: "read_silent"
        case .slowAnswer: "slow_answer"
        case .slowRead: "slow_read"
        case .drip: "drip"
        case .status: "status"
        case .authFlip: "auth_flip"
        case .tooLargeLate: "413_late"
        case .tooLargeEarly: "413_early"
        case .tooLargeAbove: "413_above"
        case .poison: "400_poison"
        case .allMalformed: "400_all"
        case .badRequestWithoutBody: "400_no_body"
        case .badRequestWithBadJSON: "400_bad_json"
        case .resetMidBody: "reset_mid_body"
        case .resetBeforeAnswer: "reset_before_answer"
        case .resetOn: "reset_on"
        case .truncatedAnswer: "truncated_answer"
        case .garbage: "garbage"
        case .hugeAnswer: "huge_answer"
        case .keepAliveClose: "keepalive_close"
        }
    }

    /// The change of the port; nil for a fault that affects requests.
    var ofPort: PortChange? {
        switch self {
        case .down(let duration): PortChange(to: .closed, for: duration)
        case .blackhole(let duration): PortChange(to: .blackhole, for: duration)
        case .flap(let up, let down):
            PortChange(to: .closed, for: down, flapping: PortChange.Flapping(up: up, down: down))
        case .acceptSilent, .readSilent, .slowAnswer, .slowRead, .drip, .status, .authFlip, .tooLargeLate,
            .tooLargeEarly,
            .tooLargeAbove, .poison, .allMalformed, .badRequestWithoutBody, .badRequestWithBadJSON, .resetMidBody,
            .resetBeforeAnswer, .resetOn, .truncatedAnswer, .garbage, .hugeAnswer, .keepAliveClose:
            nil
        }
    }

    /// Returns `false` if a parameter of the fault excludes the request with this number.
    func hasBegun(_ nth: Int) -> Bool {
        guard case .authFlip(let after) = self else { return true }
        return nth > after
    }

    /// Whether every request to which a step with the fault applies gets no response, or one that is not HTTP. `false`
    /// for `resetOn`, which leaves only requests with its text unanswered.
    var leavesUnanswered: Bool {
        switch self {
        case .down, .blackhole, .flap, .acceptSilent, .readSilent, .resetMidBody, .resetBeforeAnswer, .garbage: true
        case .slowAnswer, .slowRead, .drip, .status, .authFlip, .tooLargeLate, .tooLargeEarly, .tooLargeAbove, .poison,
            .allMalformed, .badRequestWithoutBody, .badRequestWithBadJSON, .resetOn, .truncatedAnswer, .hugeAnswer,
            .keepAliveClose:
            false
        }
    }
}
