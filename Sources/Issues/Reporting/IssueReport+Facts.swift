extension IssueReport {
    /// What a report holds.
    struct Facts: Sendable {
        var message: String
        var error: (any Error)?
        var level: IssueLevel
        var metadata: IssueMetadata
        var breadcrumbs: [IssueBreadcrumb]
        var site: IssueSite
        var causes: [IssueCause] = []
        var domain: String?
        var code: Int?
        var timestamp: IssueTimestamp
        var isReportable = true
        /// The caller's own words, without the error's.
        var note: String?
        /// Where the calls return to that led here, innermost first.
        var addresses: [UInt] = []
        /// The error's own words, without the caller's.
        var ownWords = ""

        /// Whether others tell nothing that these do not, but for the time.
        func saysTheSame(as other: Facts) -> Bool {
            // Most differ in their place, which is quickest to see.
            site.line == other.site.line && site.column == other.site.column && level == other.level
                && message == other.message && metadata == other.metadata && domain == other.domain
                && code == other.code && causes == other.causes && isReportable == other.isReportable
                && breadcrumbs == other.breadcrumbs && site.fileID.description == other.site.fileID.description
        }

        /// Puts another error in the place of this one; false where it is the same.
        mutating func replaceError(by error: any Error, _ reading: ErrorReading) -> Bool {
            let replaced = IssueCause(domain: domain, code: code, message: self.error == nil ? message : ownWords)
            guard reading.cause != replaced else { return false }
            let older = causes
            // The words of a message are the error that it climbed as.
            if self.error == nil { note = nil }
            take(error, reading)
            // Who wraps the old error has named it, and what lies beneath it.
            causes += ([replaced] + older).filter { !causes.contains($0) }
            return true
        }

        mutating func take(_ error: any Error, _ reading: ErrorReading) {
            message = note.map { "\($0): \(reading.message)" } ?? reading.message
            ownWords = reading.message
            domain = reading.domain
            code = reading.code
            metadata = reading.facts.merging(metadata)
            causes = CauseWalk(error, reading).causes
            isReportable = reading.isReportable
            self.error = error
        }
    }
}
