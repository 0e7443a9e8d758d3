/// Why an issue did not reach the daemon, or its fate could not be learnt.
public struct DeliveryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The word for it.
        public var rawValue: String

        /// A code by its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The daemon would not take this record.
        public static let rejected = Code(rawValue: "rejected")
        /// The daemon has the record, and no longer knows under which id.
        public static let unidentified = Code(rawValue: "unidentified")
        /// The buffer was full, and worse issues took the room.
        public static let dropped = Code(rawValue: "dropped")
        /// The application itself withheld it, by ``IssueReporters/beforeSend``.
        public static let withheld = Code(rawValue: "withheld")
        /// The process ended before the daemon answered; its next run sends it.
        public static let postponed = Code(rawValue: "postponed")
        /// Delivery is switched off: `ISSUED_SOCKET` is empty.
        public static let disabled = Code(rawValue: "disabled")
        /// The daemon cannot be reached.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The daemon said no to a question.
        public static let refused = Code(rawValue: "refused")
        /// There is nothing with that id or of that name, or it belongs to another user.
        public static let notFound = Code(rawValue: "not_found")
        /// Only operators of the daemon may do that.
        public static let denied = Code(rawValue: "denied")
        /// The answer did not come in time.
        public static let timedOut = Code(rawValue: "timed_out")
        /// What came back was no answer to the question.
        public static let malformed = Code(rawValue: "malformed")

        /// The word for it.
        public var description: String { rawValue }
    }

    /// What kind of failure it was.
    public var code: Code
    /// What happened, in a sentence.
    public var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What happened, in a sentence.
    public var description: String { message }
}
