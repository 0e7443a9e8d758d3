import IssueCore
import IssueStore

/// What taking a report touches of its connection, but for the bytes it is read from.
struct UsualIntake {
    var batch = RecordBatch()
    var calls: [ReportCall] = []
    var replies = ReplyQueue()
    var session = Session()
    var silent: Set<UInt64> = []

    /// Takes it out of the connection, or puts it back.
    mutating func exchange(with connection: Connection) {
        swap(&batch, &connection.batch)
        swap(&calls, &connection.calls)
        swap(&replies, &connection.replies)
        swap(&session, &connection.session)
        swap(&silent, &connection.silent)
    }
}
