/// When the log is copied into the database: once so much was added to it, and whenever there is no space for more.
package struct CheckpointPace: Equatable, Sendable {
    package enum Step: Equatable, Sendable {
        case rest
        /// What no reader still needs is copied, and nobody waited for.
        case copy
        /// Who reads is waited for, for a moment, so that the log begins anew.
        case restart
    }

    /// What is added to the log mostly before it is copied.
    private let pages: Int
    /// How long it was when it was copied last.
    private var copied = 0
    private var lacksSpace = false

    package init(pages: Int) {
        self.pages = pages
    }

    /// What is to be done with a log that holds so many pages.
    package func next(logPages: Int) -> Step {
        guard logPages > 0, lacksSpace || added(logPages) >= pages else { return .rest }
        // Who reads one snapshot after the other keeps it from its beginning for as long as he does.
        return lacksSpace || logPages >= 2 * pages ? .restart : .copy
    }

    /// It was copied, as far as that went, or that was tried.
    package mutating func copied(logPages: Int) {
        copied = logPages
        lacksSpace = false
    }

    /// There was no space for something: a log that is copied begins anew, where there is space already.
    package mutating func lackedSpace() { lacksSpace = true }

    private func added(_ logPages: Int) -> Int {
        // A log that has become shorter has begun anew.
        logPages < copied ? logPages : logPages - copied
    }
}
