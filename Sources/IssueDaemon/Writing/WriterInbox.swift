import IssueCore
import IssueStore

/// What waits for the writer: reports, and work that must be done between two commits.
struct WriterInbox: Sendable {
    /// Something that only the writer may do.
    typealias Errand = @Sendable (StoreWriter) -> Void

    var submissions: [Submission] = []
    var recordCount = 0
    var errands: [Errand] = []
    var isStopping = false
    /// The damage that somebody else has met in the file.
    var condemnation: StoreFailure?
    /// Nothing is taken any more.
    var isClosed = false

    var isCondemned: Bool { condemnation != nil }
    var isEmpty: Bool { submissions.isEmpty && errands.isEmpty }

    /// Takes out all there is, or nothing when the end has come.
    ///
    /// - Parameter isDone: whether nothing is left of what was taken before.
    mutating func take(isDone: Bool) -> WriterInbox? {
        if isCondemned { isStopping = true }
        if isEmpty, isDone, isStopping, !isCondemned {
            isClosed = true
            return nil
        }
        let work = self
        submissions = []
        recordCount = 0
        errands = []
        condemnation = nil
        return work
    }
}
