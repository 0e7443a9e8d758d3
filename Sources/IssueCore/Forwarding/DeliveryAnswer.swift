/// A verdict, and the answer it comes from in words.
package struct DeliveryAnswer: Equatable, Sendable {
    package var verdict: DeliveryVerdict
    package var summary: AnswerSummary

    package init(_ verdict: DeliveryVerdict, _ summary: AnswerSummary) {
        self.verdict = verdict
        self.summary = summary
    }
}
