package import IssueWire

/// The state of one destination (`Destination` on the wire).
package struct DestinationStatus: Equatable, Sendable {
    package var name: String
    package var kind: String
    package var state: DestinationState
    /// The reason why the destination is waiting or paused; nil if there is none.
    package var reason: String?
    /// What an operator should do; nil if there is nothing to do.
    package var advice: String?
    package var ledger: Ledger
    /// The time of the oldest pending record; nil if none is pending.
    package var oldestPending: IssueTimestamp?
    /// The time of the next attempt; nil if none is planned.
    package var nextAttempt: IssueTimestamp?
    package var lastAnswer: String?
    package var lastSuccess: IssueTimestamp?
    /// The number of requests so far.
    package var requests: Int64
    /// The number of lines that were sent again.
    package var resent: Int64
    /// The number of records that the destination may have received twice.
    package var maybeDuplicate: Int64
    /// The number of bytes sent today.
    package var bytesToday: Int64

    package init(
        name: String, kind: String, state: DestinationState = .idle, reason: String? = nil, advice: String? = nil,
        ledger: Ledger = Ledger(), oldestPending: IssueTimestamp? = nil, nextAttempt: IssueTimestamp? = nil,
        lastAnswer: String? = nil, lastSuccess: IssueTimestamp? = nil, requests: Int64 = 0, resent: Int64 = 0,
        maybeDuplicate: Int64 = 0, bytesToday: Int64 = 0
    ) {
        self.name = name
        self.kind = kind
        self.state = state
        self.reason = reason
        self.advice = advice
        self.ledger = ledger
        self.oldestPending = oldestPending
        self.nextAttempt = nextAttempt
        self.lastAnswer = lastAnswer
        self.lastSuccess = lastSuccess
        self.requests = requests
        self.resent = resent
        self.maybeDuplicate = maybeDuplicate
        self.bytesToday = bytesToday
    }
}

extension DestinationStatus: JSONObjectCodable {
    package static var initial: Self { Self(name: "", kind: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("name", &name)
        try members.required("kind", &kind)
        try members.required("state", &state)
        try members.optional("reason", &reason)
        try members.optional("advice", &advice)
        try members.required("ledger", &ledger)
        try members.optional("oldest_pending", &oldestPending)
        try members.optional("next_attempt", &nextAttempt)
        try members.optional("last_answer", &lastAnswer)
        try members.optional("last_success", &lastSuccess)
        try members.required("requests", &requests)
        try members.required("resent", &resent)
        try members.required("maybe_duplicate", &maybeDuplicate)
        try members.required("bytes_today", &bytesToday)
    }
}

/// The current activity of a destination.
package enum DestinationState: String, CaseIterable, Sendable {
    case idle
    case sending
    case waiting
    case paused
}

/// The number of records with each fate at one destination. The sums balance at every instant.
package struct Ledger: Equatable, Sendable {
    package var received: Int64 = 0
    package var pending: Int64 = 0
    package var delivered: Int64 = 0
    package var summarised: Int64 = 0
    package var deadLettered: Int64 = 0
    package var withheld: Int64 = 0
    package var expired: Int64 = 0
    package var unconfirmed: Int64 = 0

    package init() {}

    /// `true` if every received record has exactly one fate.
    package var balances: Bool {
        received == pending + delivered + summarised + deadLettered + withheld + expired + unconfirmed
    }

    /// The number of records with a fate.
    package subscript(fate: IssueFate.Outcome) -> Int64 {
        get {
            switch fate {
            case .pending: pending
            case .delivered: delivered
            case .summarised: summarised
            case .deadLettered: deadLettered
            case .withheld: withheld
            case .expired: expired
            case .unconfirmed: unconfirmed
            }
        }
        set {
            switch fate {
            case .pending: pending = newValue
            case .delivered: delivered = newValue
            case .summarised: summarised = newValue
            case .deadLettered: deadLettered = newValue
            case .withheld: withheld = newValue
            case .expired: expired = newValue
            case .unconfirmed: unconfirmed = newValue
            }
        }
    }
}

extension Ledger: JSONObjectCodable {
    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("received", &received)
        for fate in IssueFate.Outcome.allCases { try members.required(fate.name, &self[fate]) }
    }
}

/// The records of one application that one limit currently holds back from a destination.
package struct Suppression: Equatable, Sendable {
    package var destination: String
    package var app: String?
    /// The group's id if a single group is affected, otherwise nil.
    package var group: String?
    package var reason: SuppressionReason
    /// The number of records held back.
    package var count: Int64
    /// The time since which records are held back.
    package var since: IssueTimestamp
    /// The number of groups held back; nil from a daemon that lists each group separately.
    package var groups: Int64?

    package init(
        destination: String, app: String?, group: String?, reason: SuppressionReason, count: Int64,
        since: IssueTimestamp,
        groups: Int64? = nil
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
package enum SuppressionReason: String, CaseIterable, Hashable, Sendable {
    case groupRate = "group_rate"
    case applicationRate = "application_rate"
    case globalRate = "global_rate"
    case dailyBytes = "daily_bytes"
    case cardinality
}
