/// How far the forgetting of a range has come with one step.
package struct ForgettingProgress: Equatable, Sendable {
    /// Records that this step removed.
    package var records: Int64 = 0
    /// How many fates of them were still pending, over all destinations.
    package var expired: Int64 = 0
    /// Nothing is left of the range.
    package var isDone = false
}
