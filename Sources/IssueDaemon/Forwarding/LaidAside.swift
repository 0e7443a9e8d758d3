import IssueStore

/// A batch that another one has overtaken, with all that belongs to it.
struct LaidAside {
    var batch: StoredBatch
    var lines: BatchLines
    /// The last answer that found fault with lines of it, and the last one that took some of them.
    var refusal: String?
    var taking: String?
    /// How often it was tried.
    var attempts: Int64 = 0
}
