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
    /// Somebody else has met damage in the file.
    var isCondemned = false
    /// Nothing is taken any more.
    var isClosed = false

    var isEmpty: Bool { submissions.isEmpty && errands.isEmpty }

    /// Takes out what one commit holds, or nothing when the end has come.
    mutating func take(atMost limit: Int) -> WriterInbox? {
        if isCondemned { isStopping = true }
        if isEmpty, isStopping, !isCondemned {
            isClosed = true
            return nil
        }
        var work = WriterInbox()
        work.isCondemned = isCondemned
        isCondemned = false
        work.errands = errands
        errands = []
        if recordCount <= limit {
            work.submissions = submissions
            work.recordCount = recordCount
            submissions = []
            recordCount = 0
        } else {
            var count = 0
            let end = submissions.firstIndex { submission in
                count += submission.batch.records.count
                return count > limit
            }
            let taken = max(1, end ?? submissions.count)
            work.submissions = Array(submissions[..<taken])
            submissions.removeSubrange(..<taken)
            work.recordCount = work.submissions.reduce(0) { $0 + $1.batch.records.count }
            recordCount -= work.recordCount
        }
        return work
    }
}
