import IssueStore

/// What waits for the writer: reports, and work that must be done between two commits.
struct WriterInbox: Sendable {
    /// Something that only the writer may do.
    typealias Errand = @Sendable (StoreWriter) -> Void

    var submissions: [Submission] = []
    var recordCount = 0
    var errands: [Errand] = []
    var isStopping = false

    var isEmpty: Bool { submissions.isEmpty && errands.isEmpty }
}
