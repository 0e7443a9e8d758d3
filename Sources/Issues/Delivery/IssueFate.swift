package import IssueWire

/// What became of an issue for one destination.
public struct IssueFate: Hashable, Sendable {
    /// One of the ways in which an issue can end.
    public struct Outcome: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The word for it on the wire.
        public var rawValue: String

        /// An outcome by its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It is still to be sent.
        public static let pending = Outcome(rawValue: "pending")
        /// The destination has it.
        public static let delivered = Outcome(rawValue: "delivered")
        /// The destination was told how many there were.
        public static let summarised = Outcome(rawValue: "summarised")
        /// It was given up, and can be tried again by hand.
        public static let deadLettered = Outcome(rawValue: "dead_lettered")
        /// It was never meant to be forwarded.
        public static let withheld = Outcome(rawValue: "withheld")
        /// It grew too old before it could be sent.
        public static let expired = Outcome(rawValue: "expired")
        /// It was sent to a destination that never answers.
        public static let unconfirmed = Outcome(rawValue: "unconfirmed")

        /// The word for it on the wire.
        public var description: String { rawValue }
    }

    /// The destination's name.
    public var destination: String
    /// What became of it.
    public var outcome: Outcome
    /// How many times it was sent.
    public var attempts: Int
    /// When that was.
    public var timestamp: IssueTimestamp?
    /// What the destination said.
    public var answer: String?
    /// Whether the destination may have it twice.
    public var maybeDuplicate: Bool

    package init(_ fate: DestinationFate) {
        destination = fate.destination
        outcome = Outcome(rawValue: fate.fate.name)
        attempts = Int(clamping: fate.attempts)
        timestamp = fate.at.map { IssueTimestamp($0) }
        answer = fate.answer
        maybeDuplicate = fate.maybeDuplicate
    }
}

extension IssueFate: CustomStringConvertible {
    /// Where, what, when, and what the destination said, in one line.
    public var description: String {
        var text = "\(destination): \(outcome)"
        if attempts > 0 { text += attempts == 1 ? ", 1 attempt" : ", \(attempts) attempts" }
        if let timestamp { text += ", \(timestamp)" }
        if let answer { text += ", \(answer)" }
        return maybeDuplicate ? text + ", perhaps received twice" : text
    }
}
