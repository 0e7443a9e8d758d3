package import IssueCore
package import IssueProtocol

/// How a batch ended.
package struct BatchSettlement: Sendable {
    package var batch: StoredBatch
    package var outcome: BatchOutcome
    package var attempts: Int64
    /// What was said of the lines that were taken.
    package var answer: String?
    /// What was said of those that were refused.
    package var refusal: String?
    /// The lines of the dead, by their place in the batch.
    package var deadLines: [Int: [UInt8]]
    /// Lines that were not sent to the end, since their records were gone.
    package var left: Set<Int>
    package var at: Timestamp
    package var state: DestinationRow.State

    /// Which lines of what is left may have arrived, counted among themselves.
    package var doubtsOfRest = LineSet()

    /// What is left of the batch.
    package var rest: StoredBatch? {
        guard !outcome.left.isEmpty else { return nil }
        let summaries = batch.summaries.indices.filter { outcome.left.contains($0) }.map { batch.summaries[$0] }
        let sent = batch.sent.enumerated().filter { outcome.left.contains(batch.summaries.count + $0.offset) }
        return StoredBatch(id: 0, kind: .requeued, summaries: summaries, sent: sent.map(\.element))
    }

    package init(
        batch: StoredBatch, outcome: BatchOutcome, attempts: Int64, answer: String?, refusal: String? = nil,
        deadLines: [Int: [UInt8]], left: Set<Int> = [], at: Timestamp, state: DestinationRow.State
    ) {
        self.batch = batch
        self.outcome = outcome
        self.attempts = attempts
        self.answer = answer
        self.refusal = refusal
        self.deadLines = deadLines
        self.left = left
        self.at = at
        self.state = state
    }

    /// What was said of a line that was given up.
    func answer(to reason: DeadLetterReason) -> String? {
        switch reason {
        case .refused, .tooLarge: refusal ?? answer
        // Whatever was refused before was another line.
        case .retriesExpired: state.lastAnswer ?? answer
        }
    }
}
