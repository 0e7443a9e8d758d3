package import IssueProtocol

/// What a destination is told of records that were held back.
package struct OutboundSummary: Equatable, Sendable {
    /// Made of destination, group, reason and sequence, so that it is the same whenever the same is told again.
    package var eventID: String
    package var app: String
    package var host: String
    /// Absent where it speaks for several groups.
    package var fingerprint: String?
    package var title: String
    package var domain: String?
    package var code: Int64?
    /// What the newest record of the group said of its application, for the `mobile` object.
    package var application: Application
    package var severity: Severity
    package var reason: SuppressionReason
    package var windowStart: Timestamp
    package var windowEnd: Timestamp
    package var firstSeen: Timestamp
    package var lastSeen: Timestamp
    package var suppressedCount: Int64
    package var forwardedCount: Int64
    package var occurrences: Int64
    package var sequence: Int64
    package var distinctGroups: Int64
    package var sampleIDs: [String]
    package var stillSuppressing: Bool

    package init(
        eventID: String, app: String, host: String, fingerprint: String?, title: String, domain: String?, code: Int64?,
        application: Application, severity: Severity, reason: SuppressionReason, windowStart: Timestamp,
        windowEnd: Timestamp, firstSeen: Timestamp, lastSeen: Timestamp, suppressedCount: Int64, forwardedCount: Int64,
        occurrences: Int64, sequence: Int64, distinctGroups: Int64, sampleIDs: [String], stillSuppressing: Bool
    ) {
        self.eventID = eventID
        self.app = app
        self.host = host
        self.fingerprint = fingerprint
        self.title = title
        self.domain = domain
        self.code = code
        self.application = application
        self.severity = severity
        self.reason = reason
        self.windowStart = windowStart
        self.windowEnd = windowEnd
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.suppressedCount = suppressedCount
        self.forwardedCount = forwardedCount
        self.occurrences = occurrences
        self.sequence = sequence
        self.distinctGroups = distinctGroups
        self.sampleIDs = sampleIDs
        self.stillSuppressing = stillSuppressing
    }
}
