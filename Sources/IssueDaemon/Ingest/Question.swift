import IssueCore
import IssueProtocol

/// What a connection is being answered beside reports.
enum Question {
    /// One reply ends it.
    case single
    /// Pages follow each other; the next is fetched when this one has been read.
    case pages(RecordsParameters)
    /// New records go out as they come, from behind this row on.
    case following(IssueFilter, row: Int64)
    /// A record's fate is awaited.
    case awaiting(AwaitParameters, until: MonotonicInstant)
    /// What was pending is being forwarded.
    case flushing(FlushParameters, until: MonotonicInstant, waitingFor: Int)
    /// A job is under way, which says how far it is.
    case working
}
