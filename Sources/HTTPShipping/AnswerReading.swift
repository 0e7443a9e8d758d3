package import IssueCore

/// What is read in an answer, for the forwarder and for people.
package struct AnswerReading: Equatable, Sendable {
    package var verdict: DeliveryVerdict
    package var text: String
    /// How many lines were rejected without being named.
    package var rejected: Int

    package init(_ verdict: DeliveryVerdict, _ text: String, rejected: Int = 0) {
        self.verdict = verdict
        self.text = text
        self.rejected = rejected
    }
}
