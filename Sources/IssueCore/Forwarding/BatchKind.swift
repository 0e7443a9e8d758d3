/// Why the records of a batch are in it.
package enum BatchKind: Int64, CaseIterable, Hashable, Sendable {
    /// The cursor came by.
    case walk
    /// It carries summaries alone.
    case summaries
    /// They are critical or new, and go before the backlog.
    case express
    /// They were dead letters, and somebody wants them to go once more.
    case requeued
}
