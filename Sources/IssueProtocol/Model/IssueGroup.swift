public import IssueWire

/// The records of one user's application that describe the same problem, usually called "the issue".
///
/// These are the records with the same fingerprint, unless a correction has merged or split groups. In a list, the
/// counts, ``firstSeen`` and ``lastSeen`` are those of the records that match the filter. The filter's conditions on
/// text, metadata and context are an exception: they only select groups, and records that do not match them count, too.
public struct IssueGroup: Equatable, Sendable {
    /// The id of the group.
    public var id: String
    /// A one-line description of what went wrong.
    public var title: String
    /// The highest level of its records.
    public var level: IssueLevel
    /// Whether the issue is open, resolved or muted.
    public var state: GroupState
    /// The time at which muting ends. Nil if it does not end at a time.
    public var mutedUntil: IssueTimestamp?
    /// The number of further occurrences after which muting ends. Nil if it does not end after a count.
    public var mutedUntilCount: Int?
    /// Whether the issue is open because of a regression: a record that reopened it after it was resolved, or that
    /// ended its mute with a newer version or after a number of occurrences.
    public var hasRegressed: Bool
    /// The version of the application that has the fix of a resolved issue. Only records of this version and of later
    /// ones reopen the issue. Nil if there is none.
    public var resolvedIn: String?
    /// Whether the next declared deployment of the application will have the fix of a resolved issue.
    public var isResolvedInNext = false
    /// The last change of the state by a user. If the group has regressed, this is the change to the previous state.
    /// Nil if no user has set the state, or if it has changed automatically in another way, such as at the end of a
    /// mute.
    public var stateChange: IssueStateChange?
    /// The name of the application or, if it sent none, of the sender's command. Nil if the daemon sends neither.
    public var app: String?
    /// The id of the user who reported the issue.
    public var user: UInt32
    /// The text that identifies the records of the group.
    public var fingerprint: String
    /// The version of the fingerprint rule to which the daemon has moved the group. It is also set if the sender chose
    /// the fingerprint. Nil if unknown.
    package var fingerprintRule: Int?
    /// The domain of the error. Nil if it has none.
    public var domain: String?
    /// The code of the error. Nil if it has none.
    public var code: Int?
    /// The source location. Nil if unknown.
    package var source: SourceLocation?
    /// The number of records, including those that retention has removed.
    public var records: Int
    /// The number of occurrences in these records. A record can stand for several.
    public var occurrences: Int
    /// The time at which the first record was received.
    public var firstSeen: IssueTimestamp
    /// The time at which the last record was received.
    public var lastSeen: IssueTimestamp
    /// The version of the application in the first record. Nil if unknown.
    public var firstVersion: String?
    /// The version of the application in the newest series that has a version: usually the last one that reported the
    /// issue. Nil if unknown.
    public var lastVersion: String?
    /// The id of the newest stored record, even if it does not match the filter. Nil if none was found.
    public var newestRecord: String?
    /// The number of records in each bucket of the sparkline. Empty unless the query requested a sparkline.
    public var sparkline: [Int]

    package init(
        id: String, title: String, level: IssueLevel, state: GroupState, mutedUntil: IssueTimestamp? = nil,
        hasRegressed: Bool = false, app: String?, user: UInt32, fingerprint: String, domain: String? = nil,
        code: Int? = nil, source: SourceLocation? = nil, records: Int, occurrences: Int,
        firstSeen: IssueTimestamp, lastSeen: IssueTimestamp, firstVersion: String? = nil, lastVersion: String? = nil,
        newestRecord: String? = nil, sparkline: [Int] = []
    ) {
        self.id = id
        self.title = title
        self.level = level
        self.state = state
        self.mutedUntil = mutedUntil
        self.hasRegressed = hasRegressed
        self.app = app
        self.user = user
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
        self.newestRecord = newestRecord
        self.sparkline = sparkline
    }
}

extension IssueGroup {
    /// The file ID of the source file. Nil if unknown.
    public var fileID: String? { source?.fileID }
    /// The line in the source file. Nil if unknown.
    public var line: Int? { source?.line.map { Int(clamping: $0) } }
    /// The column in the line. Nil if unknown.
    public var column: Int? { source?.column.map { Int(clamping: $0) } }
    /// The function. Nil if unknown.
    public var function: String? { source?.function }
    /// The module. Nil if the sender does not send it separately from the file ID.
    public var module: String? { source?.module }
}

extension IssueGroup: CustomStringConvertible {
    /// A summary in one line.
    public var description: String {
        let suffix = app.map { " in \($0)" } ?? ""
        let times = occurrences == 1 ? "once" : "\(occurrences) times"
        return TerminalSanitizer.line("\(id) \(level.rawValue)\(suffix): \(markedTitle) (\(times), last \(lastSeen))")
    }
}

extension IssueGroup {
    /// Returns `true` for a text in the form of a group's id: `g` and 16 lower-case hexadecimal digits.
    package static func isID(_ text: String) -> Bool {
        text.utf8.count == 17 && text.first == "g" && text.dropFirst().allSatisfy { "0123456789abcdef".contains($0) }
    }

    /// The title, preceded by the state in brackets unless the group is open and has not regressed.
    package var markedTitle: String {
        switch state {
        case .open: hasRegressed ? "[regressed] \(title)" : title
        case .resolved: "[resolved] \(title)"
        case .muted: "[muted] \(title)"
        }
    }
}

extension IssueGroup: JSONObjectCodable {
    /// The initial value for decoding.
    package static let initial = IssueGroup(
        id: "", title: "", level: .error, state: .open, app: nil, user: 0, fingerprint: "", records: 0,
        occurrences: 0, firstSeen: .epoch, lastSeen: .epoch)

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
        try members.required("title", &title)
        try members.required("severity", &level)
        try members.required("state", &state)
        try members.optional("muted_until", &mutedUntil)
        try members.optional("muted_until_count", &mutedUntilCount)
        try members.required("regressed", &hasRegressed)
        try members.optional("resolved_in", &resolvedIn)
        var isNext = isResolvedInNext ? true : nil
        try members.optional("resolved_in_next", &isNext)
        isResolvedInNext = isNext ?? false
        try members.optional("changed", &stateChange)
        try members.optional("app", &app)
        try members.required("uid", &user)
        try members.required("fingerprint", &fingerprint)
        try members.optional("fingerprint_rule", &fingerprintRule)
        try members.optional("domain", &domain)
        try members.optional("code", &code)
        try members.optional("source", &source)
        try members.required("records", &records)
        try members.required("occurrences", &occurrences)
        try members.required("first_seen", &firstSeen)
        try members.required("last_seen", &lastSeen)
        try members.optional("first_version", &firstVersion)
        try members.optional("last_version", &lastVersion)
        try members.optional("newest", &newestRecord)
        try members.nonempty("sparkline", &sparkline)
    }
}

/// The state of a group.
public enum GroupState: String, CaseIterable, Hashable, Sendable {
    /// Neither resolved nor muted.
    case open
    /// Considered fixed. The next record is a regression, unless its version lacks the fix.
    case resolved
    /// Not of interest now. New records are stored and counted, but neither forwarded nor announced.
    case muted

    /// The number of the state in the database.
    package var databaseValue: UInt8 {
        switch self {
        case .open: 0
        case .resolved: 1
        case .muted: 2
        }
    }

    /// Returns the state with a number in the database; nil if no such state exists.
    package init?(databaseValue: UInt8) {
        guard let match = Self.allCases.first(where: { $0.databaseValue == databaseValue }) else { return nil }
        self = match
    }
}

extension GroupState: JSONStringEnum {}

/// The user who last set the state of an issue, the time, and the note (`StateChange` on the wire).
public struct IssueStateChange: Equatable, Sendable {
    /// The maximum size of a note, in bytes.
    package static let maxNoteBytes = 1024

    /// The id of the user.
    public var user: UInt32
    /// The time at which the user set the state.
    public var time: IssueTimestamp
    /// The note, of at most 1024 bytes. It may come from another user who set the same state earlier. Nil if there is
    /// none.
    public var note: String?

    package init(user: UInt32, time: IssueTimestamp, note: String? = nil) {
        self.user = user
        self.time = time
        self.note = note
    }
}

extension IssueStateChange: JSONObjectCodable {
    package static var initial: Self { Self(user: 0, time: .epoch) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("uid", &user)
        try members.required("at", &time)
        try members.optional("note", &note)
    }
}

/// The parameters of `SetState`.
package struct SetStateParameters: Equatable, JSONObjectCodable, Sendable {
    package var group: String
    package var state: GroupState
    /// The time at which a mute ends; nil if it does not end at a time.
    package var until: IssueTimestamp?
    /// Whether a record from a version newer than the application's current newest one ends the state. If so, records
    /// of other versions do not reopen a resolved group. Nil means `false`.
    package var untilNewerVersion: Bool?
    /// The version that has the fix: only this version and later ones reopen the group. Nil if none was given.
    package var resolvedIn: String?
    /// Whether the next declared deployment has the fix. Nil means `false`.
    package var isResolvedInNext: Bool?
    /// The number of further occurrences after which a mute ends; nil if it does not end after a count.
    package var untilCount: Int64?
    /// A note of at most 1024 bytes, which users see with the group. If it is nil, a group that is already in this
    /// state keeps its note, unless the state is open. An empty note removes the note.
    package var note: String?

    package init(
        group: String, state: GroupState, until: IssueTimestamp? = nil, untilNewerVersion: Bool? = nil,
        resolvedIn: String? = nil, isResolvedInNext: Bool? = nil, untilCount: Int64? = nil, note: String? = nil
    ) {
        self.note = note
        self.untilCount = untilCount
        self.resolvedIn = resolvedIn
        self.isResolvedInNext = isResolvedInNext
        self.group = group
        self.state = state
        self.until = until
        self.untilNewerVersion = untilNewerVersion
    }

    package static var initial: Self { Self(group: "", state: .open) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("group", &group)
        try members.required("state", &state)
        try members.optional("until", &until)
        try members.optional("until_newer_version", &untilNewerVersion)
        try members.optional("resolved_in", &resolvedIn)
        try members.optional("resolved_in_next", &isResolvedInNext)
        try members.optional("until_count", &untilCount)
        try members.optional("note", &note)
    }
}

/// The reply of `SetState`: the group after the change.
package struct SetStateReply: Equatable, JSONObjectCodable, Sendable {
    package var group: IssueGroup

    package init(group: IssueGroup) {
        self.group = group
    }

    package static var initial: Self { Self(group: .initial) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("group", &group)
    }
}
