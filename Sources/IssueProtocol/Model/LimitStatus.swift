package import IssueWire

/// Records of one application that one limit currently holds back from a destination.
public struct Suppression: Equatable, Sendable {
    /// The name of the destination.
    public var destination: String
    /// The application whose records are held back. Nil if the daemon names none.
    public var app: String?
    /// The id of the group that is affected. Nil if there are several.
    public var group: String?
    /// The limit.
    public var reason: SuppressionReason
    /// The number of records that are held back.
    public var count: Int
    /// The time since which records are held back.
    public var since: IssueTimestamp
    /// The number of groups whose records are held back. Nil if the daemon does not send it.
    public var groups: Int?

    package init(
        destination: String, app: String?, group: String?, reason: SuppressionReason, count: Int,
        since: IssueTimestamp, groups: Int? = nil
    ) {
        self.destination = destination
        self.app = app
        self.group = group
        self.reason = reason
        self.count = count
        self.since = since
        self.groups = groups
    }
}

extension Suppression: CustomStringConvertible {
    /// A summary in one line.
    public var description: String {
        var limit = reason.rawValue
        if let group { limit += " of \(group)" }
        if let app { limit += " in \(app)" }
        return TerminalSanitizer.line("\(destination): \(count) held back by \(limit) since \(since)")
    }
}

extension Suppression: JSONObjectCodable {
    package static var initial: Self {
        Suppression(destination: "", app: nil, group: nil, reason: .groupRate, count: 0, since: .epoch)
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("destination", &destination)
        try members.optional("app", &app)
        try members.optional("group", &group)
        try members.required("reason", &reason)
        try members.required("count", &count)
        try members.required("since", &since)
        try members.optional("groups", &groups)
    }
}

/// The limit that holds a record back.
public enum SuppressionReason: String, CaseIterable, Hashable, Sendable {
    /// The rate of one issue.
    case groupRate = "group_rate"
    /// The rate of one application.
    case applicationRate = "application_rate"
    /// The rate of the destination.
    case globalRate = "global_rate"
    /// The bytes per day of the destination.
    case dailyBytes = "daily_bytes"
    /// The number of different issues of one user. Daemons of this version never report it.
    case cardinality
}

extension SuppressionReason: JSONStringEnum {}

/// The reply of `Limits`.
package struct LimitsReply: Equatable, JSONObjectCodable, Sendable {
    /// The limits, in descending order of `held`. Of limits with equal `held`, those with the smallest share left come
    /// first.
    package var limits: [LimitStatus]
    /// The number of limits that are not listed.
    package var others: Int
    /// The sum of `held` of the limits that are not listed. It includes limits that were not counted separately because
    /// there were too many. It excludes the entries of single users that are also counted in an entry for all users
    /// together.
    package var othersHeld: Int
    /// The time at which counting began, at most 24 hours ago.
    package var since: IssueTimestamp

    package init(limits: [LimitStatus], others: Int = 0, othersHeld: Int = 0, since: IssueTimestamp) {
        (self.limits, self.others, self.othersHeld, self.since) = (limits, others, othersHeld, since)
    }

    package static var initial: Self { Self(limits: [], since: .epoch) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("limits", &limits, [])
        try members.defaulted("others", &others, 0)
        try members.defaulted("others_held", &othersHeld, 0)
        try members.required("since", &since)
    }
}

/// The state of one limit (`Limit` on the wire).
package struct LimitStatus: Equatable, JSONObjectCodable, Sendable {
    /// The name of a limit on the wire.
    package enum Name: String, CaseIterable, Sendable {
        case groupRate = "group_rate"
        case applicationRate = "application_rate"
        case globalRate = "global_rate"
        case dailyBytes = "daily_bytes"
        /// Announcements of new issues in the log.
        case announcementsNew = "announcements_new"
        /// Announcements of critical and regressed issues in the log.
        case announcementsUrgent = "announcements_urgent"
        case newGroups = "new_groups"
        case newSeries = "new_series"
        case applications
        case senders
    }

    /// The wire name of the limit. A newer daemon may have limits that this version does not know.
    package var name: String
    /// The name of the destination; nil if the limit does not belong to one.
    package var destination: String?
    package var app: String?
    /// The user of the limit or of the application. Nil for a limit that all users share, and for an entry that sums up
    /// a limit that applies to each user or application separately.
    package var uid: UInt32?
    /// The id of the group; nil unless the limit is `group_rate`.
    package var group: String?
    /// The amount left now, in records, bytes or announcements. Nil if unknown, and for a user's part of a limit that
    /// users share.
    package var level: Int64?
    /// The amount of the full limit; nil for a user's part of a limit that users share.
    package var capacity: Int64?
    /// The amount by which `level` rises per `period`. Nil if `level` returns to `capacity` when a period begins, and
    /// for a user's part of a limit that users share.
    package var refill: Int64?
    /// The length of a period. Nil for a user's part of `global_rate`.
    package var period: Duration?
    /// The part of `level` that is not reserved; nil if nothing is reserved.
    package var commonLevel: Int64?
    /// The part of `capacity` that is not reserved; nil if nothing is reserved.
    package var commonCapacity: Int64?
    /// For a user's part of a limit that users share, the amount that the user has used and that was not refilled yet;
    /// otherwise nil.
    package var used: Int64?
    /// The number of records, announcements, groups, series or names above the limit since `LimitsReply.since`.
    package var held: Int64
    /// Alternative limits, each of which would have held back nothing since `LimitsReply.since`. Empty if nothing was
    /// held back, and for a user's part of a limit that users share.
    package var needed: [LimitNeed]

    package init(
        _ name: Name, destination: String? = nil, app: String? = nil, uid: UInt32? = nil, group: String? = nil,
        level: Int64? = nil, capacity: Int64? = nil, refill: Int64? = nil, period: Duration? = nil, held: Int64 = 0,
        needed: [LimitNeed] = []
    ) {
        self.name = name.rawValue
        (self.destination, self.app, self.uid, self.group) = (destination, app, uid, group)
        (self.level, self.capacity, self.refill, self.period) = (level, capacity, refill, period)
        (self.held, self.needed) = (held, needed)
    }

    package static var initial: Self { Self(.groupRate) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("limit", &name)
        try members.optional("destination", &destination)
        try members.optional("app", &app)
        try members.optional("uid", &uid)
        try members.optional("group", &group)
        try members.optional("level", &level)
        try members.optional("capacity", &capacity)
        try members.optional("refill", &refill)
        try members.optional("period", &period)
        try members.optional("common_level", &commonLevel)
        try members.optional("common_capacity", &commonCapacity)
        try members.optional("used", &used)
        try members.defaulted("held", &held, 0)
        try members.nonempty("needed", &needed)
    }
}

/// A limit that would have held back nothing.
package struct LimitNeed: Equatable, JSONObjectCodable, Sendable {
    /// The capacity that would have sufficed: the burst, or the amount per period.
    package var capacity: Int64
    /// The refill per period of the limit; nil if the limit is full again when a period begins.
    package var refill: Int64?

    package init(capacity: Int64, refill: Int64? = nil) {
        (self.capacity, self.refill) = (capacity, refill)
    }

    package static var initial: Self { Self(capacity: 0) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("capacity", &capacity)
        try members.optional("refill", &refill)
    }
}
