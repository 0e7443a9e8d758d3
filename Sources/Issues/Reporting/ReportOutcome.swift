/// How far a report got.
enum ReportOutcome {
    /// No responder kept it; the reporters were told, if there are any.
    case unhandled
    case handled
    /// It was to vanish, with all that would follow it.
    case discarded
}
