/// Why a record should not wait for the backlog.
enum ExpressReason: Int64 {
    case critical = 1
    case firstOfGroup
    /// What was resolved has come back with it.
    case regression
}
