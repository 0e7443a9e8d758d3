import IssueProtocol
import IssueStore

/// A question for the store, and who asks it.
struct QueryJob: Sendable {
    enum Work: Sendable {
        case list(ListParameters)
        case records(RecordsParameters)
        /// Where a follower begins: behind the newest record.
        case newest
        case news(IssueFilter, row: Int64)
        case show(String)
        case histogram(HistogramParameters)
        case fates(AwaitParameters)
        case deadLetters(DeadLettersParameters)
        case status
        /// Somebody says something of a group.
        case setState(SetStateParameters, isOperator: Bool)
        /// What a flush has come to.
        case destinations(String?)
    }

    var connection: UInt64
    var viewer: Viewer
    var process: ReportingProcess
    /// Whether it is asked by root, the daemon's own user or an operator, who have a query thread of their own.
    var isPrivileged = false
    var work: Work
}
