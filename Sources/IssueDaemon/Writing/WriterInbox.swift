import IssueCore
import IssueProtocol
import IssueStore

/// What waits for the writer: reports, and work that must be done between two commits.
struct WriterInbox: Sendable {
    /// Something that only the writer may do.
    typealias Errand = @Sendable (StoreWriter) -> Void

    var submissions: [Submission] = []
    var recordCount = 0
    var errands: [Errand] = []
    /// Batches that are stored, whose memory the next ones may use.
    private var spares: [RecordBatch] = []
    var isStopping = false
    /// The damage that somebody else has met in the file.
    var condemnation: StoreFailure?
    /// No errand is taken any more; reports are, until the end, and refused.
    var isClosed = false

    /// As many as connections report at once mostly, of which none is larger than what is usual.
    private static let mostSpares = 8
    private static let mostSpareBytes = 1 << 20

    var isCondemned: Bool { condemnation != nil }
    var isEmpty: Bool { submissions.isEmpty && errands.isEmpty }

    /// An empty batch, mostly one whose memory is there already.
    mutating func takeSpare() -> RecordBatch {
        guard var batch = spares.popLast() else { return RecordBatch() }
        batch.clear()
        return batch
    }

    mutating func keepSpares(of submissions: [Submission]) {
        for submission in submissions where spares.count < Self.mostSpares {
            if submission.batch.bytes.capacity <= Self.mostSpareBytes { spares.append(submission.batch) }
        }
    }

    /// Takes out all there is, or nothing when the end has come.
    ///
    /// - Parameter isDone: whether nothing is left of what was taken before.
    mutating func take(isDone: Bool) -> WriterInbox? {
        if isEmpty, isDone, isStopping, !isCondemned {
            isClosed = true
            return nil
        }
        var work = self
        work.spares = []
        submissions = []
        recordCount = 0
        errands = []
        condemnation = nil
        return work
    }
}
