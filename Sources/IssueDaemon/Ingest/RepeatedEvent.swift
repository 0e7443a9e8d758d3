import IssueCore

/// Counts something that may happen very often, so that the log tells of it at most once a minute.
struct RepeatedEvent: Sendable {
    private var count = 0
    private var isToldFrom = MonotonicInstant(sinceBoot: .zero)

    /// Returns how often it has happened since it was last told, or nil where it is not to be told now.
    mutating func happened(_ times: Int = 1, at now: MonotonicInstant) -> Int? {
        count += times
        guard now >= isToldFrom else { return nil }
        isToldFrom = now.advanced(by: .seconds(60))
        defer { count = 0 }
        return count
    }
}
