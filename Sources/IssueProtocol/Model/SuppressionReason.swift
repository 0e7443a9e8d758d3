internal import IssueWire

/// Which limit a held back record met.
package enum SuppressionReason: String, CaseIterable, Hashable, Sendable {
    case groupRate = "group_rate"
    case applicationRate = "application_rate"
    case globalRate = "global_rate"
    case dailyBytes = "daily_bytes"
    case cardinality
}
