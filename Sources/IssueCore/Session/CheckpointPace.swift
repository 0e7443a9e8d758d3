/// When the log is copied into the database: once it holds so much, and whenever there is no space for more.
package struct CheckpointPace: Equatable, Sendable {
    /// What the log holds mostly before it is copied.
    private let pages: Int
    private var due: Int

    package init(pages: Int) {
        self.pages = pages
        due = pages
    }

    /// Whether a log that holds so many pages is to be copied now.
    package func isDue(logPages: Int) -> Bool { logPages > 0 && logPages >= due }

    /// It was copied, as far as that went.
    ///
    /// While somebody holds a snapshot, not all can be copied: then it is not tried with each commit.
    package mutating func copied(isWhole: Bool, logPages: Int) {
        due = isWhole ? pages : logPages + pages
    }

    /// There was no space for a commit: a log that is copied begins anew, where there is space already.
    package mutating func lackedSpace() { due = 0 }
}
