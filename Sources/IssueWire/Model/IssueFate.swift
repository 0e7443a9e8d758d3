/// The fate of an issue at one destination.
public struct IssueFate: Hashable, Sendable {
    /// The name of the destination.
    public var destination: String
    /// The state or final result of forwarding.
    public var outcome: Outcome
    /// The number of attempts to send the issue's batch or a part of it; 0 if the issue is withheld or summarised.
    /// While the issue is pending, this can be the number for another batch that is sent first.
    public var attempts: Int
    /// The time of the outcome. For a pending issue, and for some expired ones, the time at which the issue's batch was
    /// prepared. Nil if unknown.
    public var timestamp: IssueTimestamp?
    /// The destination's last response about the issue, shortened. While the issue is pending, the response may be
    /// about another batch. Nil if there is none.
    public var answer: String?
    /// Whether the destination may have received the issue more than once.
    public var maybeDuplicate: Bool

    package init(
        destination: String, outcome: Outcome, attempts: Int, timestamp: IssueTimestamp?, answer: String?,
        maybeDuplicate: Bool
    ) {
        self.destination = destination
        self.outcome = outcome
        self.attempts = attempts
        self.timestamp = timestamp
        self.answer = answer
        self.maybeDuplicate = maybeDuplicate
    }

    /// The state or final result of forwarding.
    public enum Outcome: String, CaseIterable, Hashable, Sendable, CustomStringConvertible {
        /// The issue has not been sent yet, or the result of sending it is not known yet.
        case pending
        /// The destination has accepted the issue.
        case delivered
        /// A limit held back the issue. A summary that counts it is sent instead.
        case summarised
        /// The daemon gave up sending the issue, or the summary that counts it. An operator can requeue either.
        case deadLettered = "dead_lettered"
        /// The issue is never forwarded to this destination.
        case withheld
        /// The daemon removed the issue, or could no longer read it, before it could be sent.
        case expired
        /// The issue was sent, but the answer does not show whether the destination has stored it.
        case unconfirmed

        /// The number of the outcome in the database.
        package var databaseValue: UInt8 {
            switch self {
            case .pending: 0
            case .delivered: 1
            case .summarised: 2
            case .deadLettered: 3
            case .withheld: 4
            case .expired: 5
            case .unconfirmed: 6
            }
        }

        /// Creates the outcome from its number in the database. Returns nil if no outcome has this number.
        package init?(databaseValue: UInt8) {
            guard let match = Self.allCases.first(where: { $0.databaseValue == databaseValue }) else { return nil }
            self = match
        }

        /// The name on the wire.
        public var description: String { rawValue }
    }
}

extension IssueFate: CustomStringConvertible {
    /// The destination, outcome, attempts, time and response in one line.
    public var description: String {
        var text = "\(destination): \(outcome)"
        if attempts > 0 { text += attempts == 1 ? ", 1 attempt" : ", \(attempts) attempts" }
        if let timestamp { text += ", \(timestamp)" }
        if let answer { text += ", \(answer)" }
        return maybeDuplicate ? text + ", perhaps received twice" : text
    }
}

extension IssueFate: JSONObjectCodable {
    package static var initial: Self {
        Self(destination: "", outcome: .pending, attempts: 0, timestamp: nil, answer: nil, maybeDuplicate: false)
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("destination", &destination)
        try members.required("fate", &outcome)
        try members.required("attempts", &attempts)
        try members.optional("at", &timestamp)
        try members.optional("answer", &answer)
        try members.required("maybe_duplicate", &maybeDuplicate)
    }
}

extension IssueFate.Outcome: JSONStringEnum {}
