package import IssueWire

/// All records of one user and application with the same fingerprint: what users call "the issue".
package struct IssueGroup: Equatable, Sendable {
    package var id: String
    package var title: String
    package var severity: IssueLevel
    package var state: GroupState
    /// The end of the mute; nil if it has none.
    package var mutedUntil: IssueTimestamp?
    /// `true` if a record has reopened the group after it was resolved.
    package var regressed: Bool
    package var app: String?
    /// The user that reported the records.
    package var uid: UInt32
    package var fingerprint: String
    package var domain: String?
    package var code: Int64?
    package var source: SourceLocation?
    /// The number of records.
    package var records: Int64
    /// The number of occurrences that the records stand for.
    package var occurrences: Int64
    package var firstSeen: IssueTimestamp
    package var lastSeen: IssueTimestamp
    package var firstVersion: String?
    package var lastVersion: String?
    /// The id of the newest record; nil if it has been removed.
    package var newest: String?
    /// The number of records per bucket; nil unless requested.
    package var sparkline: [Int64]?

    package init(
        id: String, title: String, severity: IssueLevel, state: GroupState, mutedUntil: IssueTimestamp? = nil,
        regressed: Bool = false, app: String?, uid: UInt32, fingerprint: String, domain: String? = nil,
        code: Int64? = nil, source: SourceLocation? = nil, records: Int64, occurrences: Int64,
        firstSeen: IssueTimestamp, lastSeen: IssueTimestamp, firstVersion: String? = nil, lastVersion: String? = nil,
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

extension IssueGroup: JSONObjectCodable {
    /// The value that reading starts with. Its members are required.
    package static let initial = IssueGroup(
        id: "", title: "", severity: .error, state: .open, app: nil, uid: 0, fingerprint: "", records: 0,
        occurrences: 0, firstSeen: .epoch, lastSeen: .epoch)

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
        try members.required("title", &title)
        try members.required("severity", &severity)
        try members.required("state", &state)
        try members.optional("muted_until", &mutedUntil)
        try members.required("regressed", &regressed)
        try members.optional("app", &app)
        try members.required("uid", &uid)
        try members.required("fingerprint", &fingerprint)
        try members.optional("domain", &domain)
        try members.optional("code", &code)
        try members.optional("source", &source)
        try members.required("records", &records)
        try members.required("occurrences", &occurrences)
        try members.required("first_seen", &firstSeen)
        try members.required("last_seen", &lastSeen)
        try members.optional("first_version", &firstVersion)
        try members.optional("last_version", &lastVersion)
        try members.optional("newest", &newest)
        try members.optional("sparkline", &sparkline)
    }
}

/// The triage state of a group.
package enum GroupState: UInt8, CaseIterable, Hashable, Sendable {
    case open
    case resolved
    case muted

    /// The name of the state on the wire and in tables.
    package var name: String {
        switch self {
        case .open: "open"
        case .resolved: "resolved"
        case .muted: "muted"
        }
    }

    /// Returns the state with a name, or nil if no such state exists.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}
