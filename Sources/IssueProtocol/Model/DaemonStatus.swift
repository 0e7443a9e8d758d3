package import IssueWire

/// The status of the daemon, its store and its destinations.
///
/// For a caller who may not see all records, the numbers of records are those of the caller's own records.
public struct DaemonStatus: Equatable, Sendable {
    /// The daemon's version.
    public var version: String
    /// The name of the host.
    public var host: String
    /// The time at which the daemon started.
    public var startedAt: IssueTimestamp
    /// The time since the start, independent of changes to the wall clock. Nil if the daemon is too old to send it.
    public var uptime: Duration?
    /// The number of records that the daemon has received since the store was created, without those that a purge has
    /// erased.
    public var received: Int
    /// The number of records that were rejected since the start, because they were invalid or too large. 0 if the
    /// caller may not see all records.
    public var rejected: Int
    /// The number of records since the start that had been stored before. 0 if the caller may not see all records.
    public var duplicates: Int
    /// The number of records in reports that failed since the start, for example because the disk was full. A report
    /// that could not be read counts as one record. 0 if the caller may not see all records.
    public var refused: Int
    /// The time of the last report that failed for lack of space or time. Nil if there was none since the start, or the
    /// caller may not see all records.
    public var refusedAt: IssueTimestamp?
    /// The number of open connections. Nil if the caller may not see all records.
    public var connections: Int?
    /// The store.
    public var store: StoreStatus
    /// The destinations.
    public var destinations: [DestinationStatus]
    /// The suppressions with the highest counts, highest first; at most 50.
    public var suppressions: [Suppression]
    /// The number of suppressions that are not in ``suppressions``.
    public var otherSuppressions: Int
    /// For each rule of redaction that has removed values since the start, the number of these values. Empty if the
    /// caller may not see all records.
    public var redactions: [RedactionCount]
    /// The notifiers. Empty if the caller may not see all records.
    public var notifiers: [NotifierStatus]

    package init(
        version: String, host: String, startedAt: IssueTimestamp, received: Int, rejected: Int, duplicates: Int,
        refused: Int, connections: Int?, store: StoreStatus, destinations: [DestinationStatus],
        suppressions: [Suppression], otherSuppressions: Int = 0, refusedAt: IssueTimestamp? = nil,
        uptime: Duration? = nil,
        redactions: [RedactionCount] = [], notifiers: [NotifierStatus] = []
    ) {
        self.version = version
        self.host = host
        self.startedAt = startedAt
        self.uptime = uptime
        self.received = received
        self.rejected = rejected
        self.duplicates = duplicates
        self.refused = refused
        self.refusedAt = refusedAt
        self.connections = connections
        self.store = store
        self.destinations = destinations
        self.suppressions = suppressions
        self.otherSuppressions = otherSuppressions
        self.redactions = redactions
        self.notifiers = notifiers
    }
}

extension DaemonStatus: CustomStringConvertible {
    /// A line for the daemon and its store, and one for each fault, destination, suppression and notifier.
    public var description: String {
        var head = "issued \(version) on \(host) since \(startedAt): "
        if store.id.isEmpty {
            head += "the store can't be opened"
        } else {
            let groups = "\(store.groups) \(store.groups == 1 ? "group" : "groups")"
            head += "\(received) received, \(store.records) stored in \(groups)"
            if let bytes = store.bytes { head += ", \(bytes) bytes" }
            if let freeBytes = store.freeBytes { head += ", \(freeBytes) free" }
        }
        let faults = store.faults.map { TerminalSanitizer.line("fault: \($0)") }
        let lines = [TerminalSanitizer.line(head)] + faults + destinations.map(\.description)
        return (lines + suppressions.map(\.description) + notifiers.map(\.description)).joined(separator: "\n")
    }
}

extension DaemonStatus: JSONObjectCodable {
    package static let initial = DaemonStatus(
        version: "", host: "", startedAt: .epoch, received: 0, rejected: 0, duplicates: 0, refused: 0,
        connections: nil, store: .initial, destinations: [], suppressions: [])

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("version", &version)
        try members.required("host", &host)
        try members.required("started_at", &startedAt)
        try members.optional("uptime", &uptime)
        try members.required("received", &received)
        try members.required("rejected", &rejected)
        try members.required("duplicates", &duplicates)
        try members.defaulted("refused", &refused, 0)
        try members.optional("refused_at", &refusedAt)
        try members.optional("connections", &connections)
        try members.required("store", &store)
        try members.defaulted("destinations", &destinations, [])
        try members.defaulted("suppressions", &suppressions, [])
        try members.defaulted("other_suppressions", &otherSuppressions, 0)
        try members.defaulted("redactions", &redactions, [])
        try members.nonempty("notifiers", &notifiers)
    }
}

/// The number of values that a rule of `[Redaction]` has removed from records.
public struct RedactionCount: Equatable, Sendable {
    /// The name of the rule, such as `password`.
    public var rule: String
    /// The number of values.
    public var count: Int

    package init(rule: String, count: Int) {
        self.rule = rule
        self.count = count
    }
}

extension RedactionCount: JSONObjectCodable {
    package static let initial = RedactionCount(rule: "", count: 0)

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("rule", &rule)
        try members.required("count", &count)
    }
}

/// The status of the daemon's store.
public struct StoreStatus: Equatable, Sendable {
    /// The store code with which the id of the newest record begins. It changes with the first record after the
    /// database was created or restored, or has lost its WAL. Empty if the store cannot be opened.
    public var id: String
    /// The number of stored records. For a caller who may not see all records, this is ``DaemonStatus/received``, which
    /// includes records that retention has removed.
    public var records: Int
    /// The number of stored groups, apart from groups that are merged into others. If the caller may not see all
    /// records, only the caller's groups are counted.
    public var groups: Int
    /// The size of the database without its WAL, in bytes. Nil if the store cannot be opened, or the caller may not see
    /// all records.
    public var bytes: Int?
    /// The time at which the oldest stored record was received. Nil if there is none, or the caller may not see all
    /// records.
    public var oldest: IssueTimestamp?
    /// The free space of the store's file system, in bytes. Nil if it is unknown, or the caller may not see all
    /// records.
    public var freeBytes: Int?
    /// A description of each current fault of the store or the configuration. Empty if the caller may not see all
    /// records.
    public var faults: [String]
    /// The stable identifier of each fault, in the order of ``faults``. Empty if the daemon is too old to send
    /// identifiers.
    public var faultIDs: [String] = []
    /// The version of SQLite that the daemon uses. Nil if the caller may not see all records.
    public var sqliteVersion: String?
    /// The path of the database. Nil if the caller may not see all records, or if the daemon is too old to send it.
    package var path: String?

    package init(
        id: String, records: Int, groups: Int, bytes: Int?, oldest: IssueTimestamp?, freeBytes: Int?,
        faults: [String], sqliteVersion: String? = nil
    ) {
        self.id = id
        self.records = records
        self.groups = groups
        self.bytes = bytes
        self.oldest = oldest
        self.freeBytes = freeBytes
        self.faults = faults
        self.sqliteVersion = sqliteVersion
    }
}

extension StoreStatus: JSONObjectCodable {
    package static let initial = StoreStatus(
        id: "", records: 0, groups: 0, bytes: nil, oldest: nil, freeBytes: nil, faults: [])

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
        try members.required("records", &records)
        try members.required("groups", &groups)
        try members.optional("bytes", &bytes)
        try members.optional("oldest", &oldest)
        try members.optional("free_bytes", &freeBytes)
        try members.defaulted("faults", &faults, [])
        try members.nonempty("fault_ids", &faultIDs)
        try members.optional("sqlite_version", &sqliteVersion)
        try members.optional("path", &path)
    }
}

/// The reply of `Retention`: what is stored, and which records retention removes next.
package struct RetentionReply: Equatable, Sendable {
    /// The number of stored records.
    package var records: Int64
    /// When the oldest record was received; nil if there is none.
    package var oldest: IssueTimestamp?
    /// The size of the database without its free pages, in bytes.
    package var bytes: Int64
    /// `MaxSize=`, in bytes.
    package var maxBytes: Int64
    /// The free space of the file system, in bytes; nil if unknown.
    package var freeBytes: Int64?
    /// `KeepFree=`, in bytes.
    package var keepFree: Int64
    /// The bytes that new records add in a day, at the rate of the last 24 hours or, if the store is younger, of its
    /// lifetime; nil if unknown.
    package var growth: Int64?
    /// `true` if other files fill the disk so much that no records are removed for `KeepFree=`; otherwise nil.
    package var isUnreachable: Bool?
    /// The rules in the order in which they remove records. Rules that remove none at the current rate come last.
    package var rules: [RetentionRule]

    package init(
        records: Int64, oldest: IssueTimestamp?, bytes: Int64, maxBytes: Int64, freeBytes: Int64?, keepFree: Int64,
        growth: Int64? = nil, isUnreachable: Bool? = nil, rules: [RetentionRule] = []
    ) {
        (self.records, self.oldest, self.bytes, self.maxBytes) = (records, oldest, bytes, maxBytes)
        (self.freeBytes, self.keepFree, self.growth, self.rules) = (freeBytes, keepFree, growth, rules)
        self.isUnreachable = isUnreachable
    }
}

extension RetentionReply: JSONObjectCodable {
    package static var initial: Self {
        Self(records: 0, oldest: nil, bytes: 0, maxBytes: 0, freeBytes: nil, keepFree: 0)
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("records", &records)
        try members.optional("oldest", &oldest)
        try members.required("bytes", &bytes)
        try members.required("max_bytes", &maxBytes)
        try members.optional("free_bytes", &freeBytes)
        try members.required("keep_free", &keepFree)
        try members.optional("growth", &growth)
        try members.optional("unreachable", &isUnreachable)
        try members.defaulted("rules", &rules, [])
    }
}

/// A retention rule.
package struct RetentionRule: Equatable, Sendable {
    /// The name of a rule on the wire.
    package enum Name: String, CaseIterable, Sendable {
        case maxAge = "max_age"
        case maxSize = "max_size"
        case keepFree = "keep_free"
    }

    /// The wire name of the rule. A newer daemon may have rules that this version does not know.
    package var name: String
    /// The application that has a maximum age of its own; nil for the other rules.
    package var app: String?
    /// The user of `app` or, for a limit on space, the user whose records are removed first. Nil if there is no such
    /// user.
    package var uid: UInt32?
    /// The maximum age; nil for a limit on space.
    package var age: Duration?
    /// When the rule removes records next, which may be in the past; nil if it removes none at the current rate.
    package var at: IssueTimestamp?
    /// The number of records that the rule removes at the time `at`; nil if `at` is nil, and for a limit on space.
    package var records: Int64?

    package init(
        _ name: Name, app: String? = nil, uid: UInt32? = nil, age: Duration? = nil, at: IssueTimestamp? = nil,
        records: Int64? = nil
    ) {
        self.name = name.rawValue
        (self.app, self.uid, self.age, self.at, self.records) = (app, uid, age, at, records)
    }
}

extension RetentionRule: JSONObjectCodable {
    package static var initial: Self { Self(.maxAge) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("rule", &name)
        try members.optional("app", &app)
        try members.optional("uid", &uid)
        try members.optional("age", &age)
        try members.optional("at", &at)
        try members.optional("records", &records)
    }
}
