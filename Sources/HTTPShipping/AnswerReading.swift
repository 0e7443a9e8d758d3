package import IssueCore

/// What is read in an answer, for the forwarder and for people.
package struct AnswerReading: Equatable, Sendable {
    package var verdict: DeliveryVerdict
    package var text: String

    package init(_ verdict: DeliveryVerdict, _ text: String) {
        self.verdict = verdict
        self.text = text
    }
}
