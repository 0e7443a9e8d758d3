/// A verdict, and the answer it comes from in words.
package struct DeliveryAnswer: Equatable, Sendable {
    package var verdict: DeliveryVerdict
    package var summary: AnswerSummary
    /// The request was made twice before this answer came, so whatever was taken may be there twice.
    package var mayHaveArrivedTwice: Bool

    /// How many lines were rejected without being named.
    package var rejected: Int

    package init(
        _ verdict: DeliveryVerdict, _ summary: AnswerSummary, rejected: Int = 0, mayHaveArrivedTwice: Bool = false
    ) {
        self.verdict = verdict
        self.summary = summary
        self.rejected = rejected
        self.mayHaveArrivedTwice = mayHaveArrivedTwice
    }
}
