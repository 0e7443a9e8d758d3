package import IssueCore

/// A batch whose answer is not known, as the store holds it.
package struct StoredBatch: Equatable, Sendable {
    package var id: Int64
    package var kind: BatchKind
    package var summaries: [Int64]
    package var sent: [SentRecord]

    package init(id: Int64, kind: BatchKind = .walk, summaries: [Int64], sent: [SentRecord]) {
        self.id = id
        self.kind = kind
        self.summaries = summaries
        self.sent = sent
    }
}
