package import IssueWire

/// All records of one user and application with the same fingerprint: what users call "the issue".
package struct IssueGroup: Equatable, Sendable {
    package var id: String
    package var title: String
    package var severity: Severity
    package var state: GroupState
    /// The end of the mute; nil if it has none.
    package var mutedUntil: Timestamp?
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
    package var firstSeen: Timestamp
    package var lastSeen: Timestamp
    package var firstVersion: String?
    package var lastVersion: String?
    /// The id of the newest record; nil if it has been removed.
    package var newest: String?
    /// The number of records per bucket; nil unless requested.
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

extension IssueGroup: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var id: String?
        var title: String?
        var severity: Severity?
        var state: GroupState?
        var mutedUntil: Timestamp?
        var regressed: Bool?
        var app: String?
        var uid: UInt32?
        var fingerprint: String?
        var domain: String?
        var code: Int64?
        var source: SourceLocation?
        var records: Int64?
        var occurrences: Int64?
        var firstSeen: Timestamp?
        var lastSeen: Timestamp?
        var firstVersion: String?
        var lastVersion: String?
        var newest: String?
        var sparkline: [Int64]?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "id": try scanner.read(&id, key)
            case "title": try scanner.read(&title, key)
            case "severity": try scanner.read(&severity, key)
            case "state": try scanner.read(&state, key)
            case "muted_until": try scanner.read(&mutedUntil, key)
            case "regressed": try scanner.read(&regressed, key)
            case "app": try scanner.read(&app, key)
            case "uid": try scanner.read(&uid, key)
            case "fingerprint": try scanner.read(&fingerprint, key)
            case "domain": try scanner.read(&domain, key)
            case "code": try scanner.read(&code, key)
            case "source": try scanner.read(&source, key)
            case "records": try scanner.read(&records, key)
            case "occurrences": try scanner.read(&occurrences, key)
            case "first_seen": try scanner.read(&firstSeen, key)
            case "last_seen": try scanner.read(&lastSeen, key)
            case "first_version": try scanner.read(&firstVersion, key)
            case "last_version": try scanner.read(&lastVersion, key)
            case "newest": try scanner.read(&newest, key)
            case "sparkline": try scanner.read(&sparkline, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            id: try id.required("id"),
            title: try title.required("title"),
            severity: try severity.required("severity"),
            state: try state.required("state"),
            mutedUntil: mutedUntil,
            regressed: try regressed.required("regressed"),
            app: app,
            uid: try uid.required("uid"),
            fingerprint: try fingerprint.required("fingerprint"),
            domain: domain,
            code: code,
            source: source,
            records: try records.required("records"),
            occurrences: try occurrences.required("occurrences"),
            firstSeen: try firstSeen.required("first_seen"),
            lastSeen: try lastSeen.required("last_seen"),
            firstVersion: firstVersion,
            lastVersion: lastVersion,
            newest: newest,
            sparkline: sparkline
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("id", id)
        writer.member("title", title)
        writer.member("severity", severity)
        writer.member("state", state)
        writer.member("muted_until", ifPresent: mutedUntil)
        writer.member("regressed", regressed)
        writer.member("app", ifPresent: app)
        writer.member("uid", uid)
        writer.member("fingerprint", fingerprint)
        writer.member("domain", ifPresent: domain)
        writer.member("code", ifPresent: code)
        writer.member("source", ifPresent: source)
        writer.member("records", records)
        writer.member("occurrences", occurrences)
        writer.member("first_seen", firstSeen)
        writer.member("last_seen", lastSeen)
        writer.member("first_version", ifPresent: firstVersion)
        writer.member("last_version", ifPresent: lastVersion)
        writer.member("newest", ifPresent: newest)
        writer.member("sparkline", ifPresent: sparkline)
        writer.closeObject()
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
