package import IssueProtocol
public import Issues

extension IssueBrowser {
    /// A record, or a summary, that was given up for a destination.
    public struct DeadLetter: Sendable {
        package var wire: IssueProtocol.DeadLetter

        package init(_ wire: IssueProtocol.DeadLetter) {
            self.wire = wire
        }

        /// The record's id; of a summary `summary-` and a number.
        public var record: String { wire.record }
        /// The destination.
        public var destination: String { wire.destination }
        /// Why, in a word: `refused`, `too_large` or `retries_expired`.
        public var reason: String { wire.reason }
        /// What the destination said.
        public var answer: String? { wire.answer }
        /// How many times it was sent.
        public var attempts: Int { Int(clamping: wire.attempts) }
        /// When it was given up.
        public var timestamp: IssueTimestamp { IssueTimestamp(wire.at) }
        /// What was to be sent, where it was asked for.
        public var line: String? { wire.line }
    }
}

extension IssueBrowser.DeadLetter: CustomStringConvertible {
    /// What was given up and why, in one line.
    public var description: String {
        let tries = attempts == 1 ? "1 attempt" : "\(attempts) attempts"
        let answer = answer.map { ": \($0)" } ?? ""
        return HarmlessText.line("\(record) for \(destination): \(reason) after \(tries), \(timestamp)\(answer)")
    }
}
