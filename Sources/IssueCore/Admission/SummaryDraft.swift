package import IssueProtocol

/// What a summary says: how much was held back, of what, since when and why.
package struct SummaryDraft: Equatable, Sendable {
    /// Nothing where it speaks for several groups of an application.
    package var group: Int64?
    package var account: Int64
    /// Of several groups: the reason that held back most.
    package var reason: SuppressionReason
    package var windowStart: LogInstant
    package var windowEnd: LogInstant
    package var suppressedCount: Int64
    package var suppressedOccurrences: Int64
    package var forwardedCount: Int64
    /// The running total; of several groups their sum.
    package var occurrences: Int64
    /// Counted for each group and reason; for what speaks for several groups, for each application.
    package var summarySequence: Int64
    package var firstSeen: LogInstant
    package var lastSeen: LogInstant
    package var samples: [Int64]
    package var maxSeverity: Severity
    /// Something was held back in the second half of the window, so it has not come to rest.
    package var stillSuppressing: Bool
    package var distinctGroups: Int64
    /// Not told, but kept for whoever asks what became of a record.
    package var stretches: [SummaryStretch]

    package init(
        group: Int64?, account: Int64, reason: SuppressionReason, windowStart: LogInstant, windowEnd: LogInstant,
        suppressedCount: Int64, suppressedOccurrences: Int64, forwardedCount: Int64, occurrences: Int64,
        summarySequence: Int64, firstSeen: LogInstant, lastSeen: LogInstant, samples: [Int64],
        maxSeverity: Severity, stillSuppressing: Bool, distinctGroups: Int64,
        stretches: [SummaryStretch] = []
    ) {
        self.group = group
        self.account = account
        self.reason = reason
        self.windowStart = windowStart
        self.windowEnd = windowEnd
        self.suppressedCount = suppressedCount
        self.suppressedOccurrences = suppressedOccurrences
        self.forwardedCount = forwardedCount
        self.occurrences = occurrences
        self.summarySequence = summarySequence
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.samples = samples
        self.maxSeverity = maxSeverity
        self.stillSuppressing = stillSuppressing
        self.distinctGroups = distinctGroups
        self.stretches = stretches
    }
}
