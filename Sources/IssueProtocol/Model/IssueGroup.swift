package import IssueWire

/// All records with the same fingerprint of one user and application: what a person calls "the issue".
package struct IssueGroup: Equatable, Sendable {
    package var id: String
    package var title: String
    package var severity: Severity
    package var state: GroupState
    package var mutedUntil: Timestamp?
    package var regressed: Bool
    package var app: String?
    package var uid: UInt32
    package var fingerprint: String
    package var domain: String?
    package var code: Int64?
    package var source: SourceLocation?
    package var records: Int64
    package var occurrences: Int64
    package var firstSeen: Timestamp
    package var lastSeen: Timestamp
    package var firstVersion: String?
    package var lastVersion: String?
    package var newest: String?
    package var sparkline: [Int64]?

    package init(
        id: String, title: String, severity: Severity, state: GroupState, mutedUntil: Timestamp? = nil,
        regressed: Bool = false, app: String?, uid: UInt32, fingerprint: String, domain: String? = nil,
        code: Int64? = nil, source: SourceLocation? = nil, records: Int64, occurrences: Int64,
        firstSeen: Timestamp, lastSeen: Timestamp, firstVersion: String? = nil, lastVersion: String? = nil,
        newest: String? = nil, sparkline: [Int64]? = nil
    ) {
        self.id = id
        self.title = title
        self.severity = severity
        self.state = state
        self.mutedUntil = mutedUntil
        self.regressed = regressed
        self.app = app
        self.uid = uid
        self.fingerprint = fingerprint
        self.domain = domain
        self.code = code
        self.source = source
        self.records = records
        self.occurrences = occurrences
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.firstVersion = firstVersion
        self.lastVersion = lastVersion
        self.newest = newest
        self.sparkline = sparkline
    }
}
