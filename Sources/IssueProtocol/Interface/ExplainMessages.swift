package import IssueWire

/// The reasons why a record is in its group (the reply of `Explain`).
public struct GroupExplanation: Equatable, Sendable {
    /// The group, after all corrections.
    public var group: IssueGroup
    /// The fingerprint of the record; that of the group if no record is stored.
    public var fingerprint: String
    /// Whether the sender chose the fingerprint; `false` if no record is stored.
    public var isChosen: Bool
    /// The version of the rule that computed the fingerprint. Nil if the sender chose the fingerprint, or if the
    /// fingerprint is that of an overflow group. If no record is stored, this is always the version stored with the
    /// group.
    public var rule: Int?
    /// The message without its variable parts, as in titles; nil if no record is stored.
    public var template: String?
    /// The ids that refer to the group, at most 1,000: its own id first, then those of the groups merged into it.
    public var ids: [String]
    /// The corrections by which the record came to the group. They may include splits into the group that did not move
    /// the record.
    public var corrections: [GroupCorrection]

    package init(
        group: IssueGroup, fingerprint: String, isChosen: Bool, rule: Int?, template: String?, ids: [String],
        corrections: [GroupCorrection]
    ) {
        self.group = group
        self.fingerprint = fingerprint
        self.isChosen = isChosen
        self.rule = rule
        self.template = template
        self.ids = ids
        self.corrections = corrections
    }
}

extension GroupExplanation: JSONObjectCodable {
    package static var initial: Self {
        Self(group: .initial, fingerprint: "", isChosen: false, rule: nil, template: nil, ids: [], corrections: [])
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("group", &group)
        try members.required("fingerprint", &fingerprint)
        try members.required("chosen", &isChosen)
        try members.optional("rule", &rule)
        try members.optional("template", &template)
        try members.required("ids", &ids)
        try members.required("corrections", &corrections)
    }
}

/// The parameters of `ExplainRecord`.
package struct ExplainRecordParameters: Equatable, JSONObjectCodable, Sendable {
    /// The record, as in `Report`.
    package var record: JSONValue
    /// The user of the application; nil for the caller or, if only other users have an application of this name, for
    /// the first of them.
    package var user: UInt32?
    /// The systemd unit of the sender; nil for none.
    package var unit: String?

    package init(record: JSONValue, user: UInt32? = nil, unit: String? = nil) {
        self.record = record
        self.user = user
        self.unit = unit
    }

    package static var initial: Self { Self(record: .null) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("record", &record)
        try members.optional("user", &user)
        try members.optional("unit", &unit)
    }
}

/// A rule that would remove values from a record.
package struct ForecastRedaction: Equatable, JSONObjectCodable, Sendable {
    /// The name of the rule, such as `password`.
    package var rule: String
    /// What the rule does with the values: `mask`, `hash` or `remove`.
    package var action: String
    /// The number of values.
    package var count: Int

    package init(rule: String, action: String, count: Int) {
        self.rule = rule
        self.action = action
        self.count = count
    }

    package static var initial: Self { Self(rule: "", action: "", count: 0) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("rule", &rule)
        try members.required("action", &action)
        try members.required("count", &count)
    }
}

/// The level of a limit that applies to a record.
package struct ForecastLimit: Equatable, JSONObjectCodable, Sendable {
    /// `new_groups`, `group_rate`, `application_rate`, `global_rate` or `daily_bytes`.
    package var limit: String
    /// The amount that is left now: records, new groups, or bytes.
    package var available: Int
    /// The amount of the full limit, with the part in `reserved`.
    package var burst: Int
    /// The part of `burst` that only other records can use, so that it is never in `available`; nil if there is none,
    /// and for `daily_bytes`, whose reserves are not known here.
    package var reserved: Int?
    /// The amount that is added per `period`.
    package var refill: Int
    /// The length of a period, in milliseconds.
    package var period: Int

    package init(limit: String, available: Int, burst: Int, refill: Int, period: Int, reserved: Int? = nil) {
        self.limit = limit
        self.available = available
        self.burst = burst
        self.reserved = reserved
        self.refill = refill
        self.period = period
    }

    package static var initial: Self { Self(limit: "", available: 0, burst: 0, refill: 0, period: 0) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("limit", &limit)
        try members.required("available", &available)
        try members.required("burst", &burst)
        try members.required("refill", &refill)
        try members.required("period", &period)
        try members.optional("reserved", &reserved)
    }
}

/// The outcome of a record at a destination.
package struct ForecastDestination: Equatable, JSONObjectCodable, Sendable {
    package var destination: String
    /// `forwarded`, `summarised` or `withheld`.
    package var outcome: String
    /// The limit that holds the record back, as in `Suppression.reason`, or `not_reportable` or `muted`; nil if it is
    /// forwarded.
    package var reason: String?
    /// The limits that apply, except limits that are switched off. Unless the caller may see all records, limits that
    /// all users share are absent, too.
    package var limits: [ForecastLimit]

    package init(destination: String, outcome: String, reason: String? = nil, limits: [ForecastLimit] = []) {
        self.destination = destination
        self.outcome = outcome
        self.reason = reason
        self.limits = limits
    }

    package static var initial: Self { Self(destination: "", outcome: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("destination", &destination)
        try members.required("outcome", &outcome)
        try members.optional("reason", &reason)
        try members.required("limits", &limits)
    }
}

/// Whether a notifier would report a record and, if it would not, the reason.
package struct ForecastNotifier: Equatable, JSONObjectCodable, Sendable {
    /// The name of the notifier.
    package var notifier: String
    /// Whether the notifier would report the record.
    package var isNotified: Bool
    /// The reason why the notifier does not report the record: the key of its section that excludes the record, such as
    /// `Severity`; `muted`; `no_event` if ``RecordForecast/events`` is empty for another reason; or `silenced`. Nil if
    /// the notifier reports it.
    package var reason: String?
    /// The id of the silence that covers the record; nil unless the reason is `silenced`.
    package var silence: String?

    package init(notifier: String, isNotified: Bool, reason: String? = nil, silence: String? = nil) {
        self.notifier = notifier
        self.isNotified = isNotified
        self.reason = reason
        self.silence = silence
    }

    package static var initial: Self { Self(notifier: "", isNotified: false) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("notifier", &notifier)
        try members.required("notified", &isNotified)
        try members.optional("reason", &reason)
        try members.optional("silence", &silence)
    }
}

/// The reply of `ExplainRecord`: how the daemon would handle a record. Nothing is stored.
package struct RecordForecast: Equatable, JSONObjectCodable, Sendable {
    /// The message as it would be stored, without the values that redaction removes.
    package var message: String
    /// The metadata as it would be stored; nil if there is none.
    package var metadata: JSONValue?
    package var redactions: [ForecastRedaction]
    /// The name of the application; `overflow` if its user has too many new applications.
    package var app: String
    /// The id of the user of the application.
    package var user: UInt32
    /// Other users who have an application of this name, as far as the caller may see them; at most 21.
    package var otherUsers: [UInt32]
    /// The message without its variable parts, as in titles.
    package var template: String
    /// The fingerprint; `overflow` if the application or its user has too many new groups or series.
    package var fingerprint: String
    /// Whether the sender chose the fingerprint.
    package var isChosen: Bool
    /// The version of the rule that computed the fingerprint; nil if the sender chose the fingerprint, or if the
    /// fingerprint is that of an overflow group.
    package var rule: Int?
    /// The id of the group. A new group would get this id.
    package var groupID: String
    /// Whether the record would create its group.
    package var isNew: Bool
    /// The group; nil if it would be new, or if its counts were removed together with its records.
    package var group: IssueGroup?
    /// The corrections that lead from the fingerprint to the group.
    package var corrections: [GroupCorrection]
    /// The events that the record would cause: any of `new`, `regressed` and `critical`.
    package var events: [String]
    /// The limit on new groups. Empty if the record needs no new group, or if there is no limit.
    package var limits: [ForecastLimit]
    package var destinations: [ForecastDestination]
    /// The notifiers. Empty unless the caller may see all records.
    package var notifiers: [ForecastNotifier]

    package init(
        message: String, metadata: JSONValue? = nil, redactions: [ForecastRedaction] = [], app: String, user: UInt32,
        otherUsers: [UInt32] = [], template: String, fingerprint: String, isChosen: Bool, rule: Int?, groupID: String,
        isNew: Bool, group: IssueGroup? = nil, corrections: [GroupCorrection] = [], events: [String] = [],
        limits: [ForecastLimit] = [], destinations: [ForecastDestination] = [], notifiers: [ForecastNotifier] = []
    ) {
        self.message = message
        self.metadata = metadata
        self.redactions = redactions
        self.app = app
        self.user = user
        self.otherUsers = otherUsers
        self.template = template
        self.fingerprint = fingerprint
        self.isChosen = isChosen
        self.rule = rule
        self.groupID = groupID
        self.isNew = isNew
        self.group = group
        self.corrections = corrections
        self.events = events
        self.limits = limits
        self.destinations = destinations
        self.notifiers = notifiers
    }

    package static var initial: Self {
        Self(
            message: "", app: "", user: 0, template: "", fingerprint: "", isChosen: false, rule: nil, groupID: "",
            isNew: false)
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("message", &message)
        try members.optional("metadata", &metadata)
        try members.required("redactions", &redactions)
        try members.required("app", &app)
        try members.required("user", &user)
        try members.required("other_users", &otherUsers)
        try members.required("template", &template)
        try members.required("fingerprint", &fingerprint)
        try members.required("chosen", &isChosen)
        try members.optional("rule", &rule)
        try members.required("group_id", &groupID)
        try members.required("new", &isNew)
        try members.optional("group", &group)
        try members.required("corrections", &corrections)
        try members.required("events", &events)
        try members.required("limits", &limits)
        try members.required("destinations", &destinations)
        try members.required("notifiers", &notifiers)
    }
}
