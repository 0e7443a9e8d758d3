package import IssueProtocol

/// Whether a record goes to a destination.
package enum Judgement: Equatable, Sendable {
    /// It goes, and says how many of its group were held back since the last one that went, and how often the group
    /// has occurred so far.
    case admit(suppressedBefore: Int64, occurrences: Int64)
    /// It is held back and counted in the open window of its group and this reason.
    case suppress(SuppressionReason)
    /// It is not for this destination at all.
    case withhold
}
