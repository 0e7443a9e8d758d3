package import IssueProtocol

/// Which records a summary counts: those of one group that were held back for one reason in a stretch of the log.
package struct SummaryStretch: Equatable, Sendable {
    package var group: Int64
    package var reason: SuppressionReason
    package var records: ClosedRange<Int64>

    package init(group: Int64, reason: SuppressionReason, records: ClosedRange<Int64>) {
        self.group = group
        self.reason = reason
        self.records = records
    }
}
