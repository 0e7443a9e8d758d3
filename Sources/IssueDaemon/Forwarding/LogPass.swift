import IssueCore

/// Where one walk over the log stands.
struct LogPass {
    /// The last row that it has passed.
    var position: Int64
    /// What it holds back without judging each record.
    var runs = HeldRuns()
    /// When the next window closes.
    var due: LogInstant?
    /// Up to which row records are read one by one, since too many of them have to be judged.
    var rowsThrough: Int64 = 0
    /// Whether most of what was read last was held back in runs.
    var isHeldBack = false
}
