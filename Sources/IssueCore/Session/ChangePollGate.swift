/// Decides when a subscriber's query is repeated: once for all changes since the last query began, never twice at the
/// same time, and not at all while nothing changes.
package struct ChangePollGate: Equatable, Sendable {
    /// `true` while a query is running.
    package private(set) var isPolling = true
    /// `true` if there may be results that the last query could not see.
    private var hasChanges = false

    /// Creates the state of a subscription whose first query has begun.
    package init() {}

    /// Handles a change that may affect the results.
    package mutating func happened() { hasChanges = true }

    /// Handles the end of a query.
    ///
    /// - Parameter mayBeMore: `true` if it returned the maximum number of results, so that the next query may find
    ///   more.
    package mutating func polled(mayBeMore: Bool) {
        isPolling = false
        if mayBeMore { hasChanges = true }
    }

    /// `true` if a query would be started now.
    package var isDue: Bool { hasChanges && !isPolling }

    /// Returns whether to start a query, given that its results can be sent.
    package mutating func shouldPoll() -> Bool {
        guard isDue else { return false }
        hasChanges = false
        isPolling = true
        return true
    }
}
