/// One report of one occurrence, in the sender's words (`Record` on the wire).
package struct IssueRecord: Equatable, Sendable {
    package var message: String
    package var severity: Severity?
    package var domain: String?
    package var code: Int64?
    package var occurredAt: Timestamp?
    package var firstOccurredAt: Timestamp?
    package var count: Int64?
    package var source: SourceLocation?
    package var app: Application?
    package var fingerprint: String?
    package var backtrace: [Frame]
    package var causes: [Cause]
    /// A JSON object, as the sender wrote it.
    package var metadata: JSONValue?
    package var reportable: Bool?

    package init(
        message: String, severity: Severity? = nil, domain: String? = nil, code: Int64? = nil,
        occurredAt: Timestamp? = nil, firstOccurredAt: Timestamp? = nil, count: Int64? = nil,
        source: SourceLocation? = nil, app: Application? = nil, fingerprint: String? = nil,
        backtrace: [Frame] = [], causes: [Cause] = [], metadata: JSONValue? = nil, reportable: Bool? = nil
    ) {
        self.message = message
        self.severity = severity
        self.domain = domain
        self.code = code
        self.occurredAt = occurredAt
        self.firstOccurredAt = firstOccurredAt
        self.count = count
        self.source = source
        self.app = app
        self.fingerprint = fingerprint
        self.backtrace = backtrace
        self.causes = causes
        self.metadata = metadata
        self.reportable = reportable
    }
}
