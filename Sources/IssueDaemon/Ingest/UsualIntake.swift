import IssueCore
import IssueStore

/// What taking a report touches of its connection, but for the bytes it is read from.
struct UsualIntake {
    var batch = RecordBatch()
    var calls: [ReportCall] = []
    var replies = ReplyQueue()
    var session = Session()
    var silent: Set<UInt64> = []

    /// Adds a call that was read, to the last one where they are alike.
    @inline(__always)
    mutating func add(_ call: borrowing ReportCall) {
        let last = calls.count - 1
        if last < 0 || !calls[last].join(call) { calls.append(copy call) }
    }

    /// Takes it out of the connection, or puts it back.
    mutating func exchange(with connection: Connection) {
        swap(&batch, &connection.batch)
        swap(&calls, &connection.calls)
        swap(&replies, &connection.replies)
        swap(&session, &connection.session)
        swap(&silent, &connection.silent)
    }
}
