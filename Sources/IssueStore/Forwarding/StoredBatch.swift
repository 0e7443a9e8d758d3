/// A batch whose answer is not known, as the store holds it.
package struct StoredBatch: Equatable, Sendable {
    package var id: Int64
    package var summaries: [Int64]
    package var sent: [SentRecord]

    package init(id: Int64, summaries: [Int64], sent: [SentRecord]) {
        self.id = id
        self.summaries = summaries
        self.sent = sent
    }
}
