/// How much of the day's bytes is used, in the steps that matter.
package enum DailyBytesState: Equatable, Sendable {
    case plenty
    /// From 80 %: only first occurrences, errors and summaries.
    case scarce
    /// From 100 %: only what is critical, and summaries.
    case spent
}
