package import IssueProtocol

/// What admission has to know of a record to decide whether it goes.
package struct Candidate: Equatable, Sendable {
    /// The record's row.
    package var record: Int64
    package var group: Int64
    /// The application of one user: a stranger who claims the same name has another one.
    package var account: Int64
    /// The user who answers for the sender (`AccountableUsers`).
    package var user: UInt32
    package var severity: Severity
    /// The first of its group at all, or the one with which it came back.
    package var isFirstOfGroup: Bool
    /// How often it occurred; a coalesced record stands for more than one.
    package var count: Int64
    package var isReportable: Bool
    package var isMuted: Bool
    /// It was refused as express before: then its reserved shares have been asked, and are not asked again.
    package var wasExpress: Bool

    package init(
        record: Int64, group: Int64, account: Int64, user: UInt32, severity: Severity, isFirstOfGroup: Bool,
        count: Int64 = 1, isReportable: Bool = true, isMuted: Bool = false, wasExpress: Bool = false
    ) {
        self.record = record
        self.group = group
        self.account = account
        self.user = user
        self.severity = severity
        self.isFirstOfGroup = isFirstOfGroup
        self.count = count
        self.isReportable = isReportable
        self.isMuted = isMuted
        self.wasExpress = wasExpress
    }
}
