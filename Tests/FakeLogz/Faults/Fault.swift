/// A way to misbehave.
package enum Fault: Hashable, Sendable {
    /// The port is closed, for a while or until it is opened again.
    case down(for: Duration?)
    /// The port is bound, and nobody ever accepts.
    case blackhole(for: Duration?)
    /// The port is open for a while, closed for a while, and so on.
    case flap(up: Duration, down: Duration)
    /// Accepted, not read, not answered.
    case acceptSilent
    /// Read, its lines taken, and never answered.
    case readSilent
    case slowAnswer(Duration)
    case slowRead(bytesPerSecond: Int)
    /// The answer comes byte by byte, with a pause behind each.
    case drip(Duration)
    /// Any answer, after a full read; no line is taken.
    case status(Int, headers: [HTTPField], body: String)
    /// No token is valid any more, from the request behind so many on.
    case authFlip(after: Int)
    case tooLargeLate
    /// 413 before the body has been read; the connection then ends in order, or is reset.
    case tooLargeEarly(reset: Bool)
    case tooLargeAbove(bytes: Int)
    /// Lines with this text in them count as malformed.
    case poison(String)
    case allMalformed
    case badRequestWithoutBody
    case badRequestWithBadJSON
    case resetMidBody(after: Int)
    /// The lines are taken, and the connection is reset in place of an answer.
    case resetBeforeAnswer
    case truncatedAnswer
    /// An answer that is no HTTP.
    case garbage
    /// 200 with a body of so many bytes, or without an end.
    case hugeAnswer(bytes: Int?)
    /// 200, then the idle connection ends: at once, or crossing the next request.
    case keepAliveClose(crossing: Bool)

    /// Any status without headers and body.
    package static func status(_ code: Int) -> Fault {
        .status(code, headers: [], body: "")
    }

    /// The name in a plan.
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
        case .truncatedAnswer: "truncated_answer"
        case .garbage: "garbage"
        case .hugeAnswer: "huge_answer"
        case .keepAliveClose: "keepalive_close"
        }
    }

    /// What becomes of the port, and for how long, where it is not a request that it befalls.
    var ofPort: DoorChange? {
        switch self {
        case .down(let duration): DoorChange(to: .closed, for: duration)
        case .blackhole(let duration): DoorChange(to: .blackhole, for: duration)
        case .flap(let up, let down):
            DoorChange(to: .closed, for: down, flapping: DoorChange.Flapping(up: up, down: down))
        case .acceptSilent, .readSilent, .slowAnswer, .slowRead, .drip, .status, .authFlip, .tooLargeLate,
            .tooLargeEarly,
            .tooLargeAbove, .poison, .allMalformed, .badRequestWithoutBody, .badRequestWithBadJSON, .resetMidBody,
            .resetBeforeAnswer, .truncatedAnswer, .garbage, .hugeAnswer, .keepAliveClose:
            nil
        }
    }

    /// Whether it befalls a request with this number, as far as the fault itself says.
    func hasBegun(_ nth: Int) -> Bool {
        guard case .authFlip(let after) = self else { return true }
        return nth > after
    }

    /// Whether no answer comes that is one.
    var leavesUnanswered: Bool {
        switch self {
        case .down, .blackhole, .flap, .acceptSilent, .readSilent, .resetMidBody, .resetBeforeAnswer, .garbage: true
        case .slowAnswer, .slowRead, .drip, .status, .authFlip, .tooLargeLate, .tooLargeEarly, .tooLargeAbove, .poison,
            .allMalformed, .badRequestWithoutBody, .badRequestWithBadJSON, .truncatedAnswer, .hugeAnswer,
            .keepAliveClose:
            false
        }
    }
}
