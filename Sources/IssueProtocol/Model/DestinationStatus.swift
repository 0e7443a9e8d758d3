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
    package var oldestPending: Timestamp?
    /// The time of the next attempt; nil if none is planned.
    package var nextAttempt: Timestamp?
    package var lastAnswer: String?
    package var lastSuccess: Timestamp?
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
        ledger: Ledger = Ledger(), oldestPending: Timestamp? = nil, nextAttempt: Timestamp? = nil,
        lastAnswer: String? = nil, lastSuccess: Timestamp? = nil, requests: Int64 = 0, resent: Int64 = 0,
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

extension DestinationStatus: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var name: String?
        var kind: String?
        var state: DestinationState?
        var reason: String?
        var advice: String?
        var ledger: Ledger?
        var oldestPending: Timestamp?
        var nextAttempt: Timestamp?
        var lastAnswer: String?
        var lastSuccess: Timestamp?
        var requests: Int64?
        var resent: Int64?
        var maybeDuplicate: Int64?
        var bytesToday: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "name": try scanner.read(&name, key)
            case "kind": try scanner.read(&kind, key)
            case "state": try scanner.read(&state, key)
            case "reason": try scanner.read(&reason, key)
            case "advice": try scanner.read(&advice, key)
            case "ledger": try scanner.read(&ledger, key)
            case "oldest_pending": try scanner.read(&oldestPending, key)
            case "next_attempt": try scanner.read(&nextAttempt, key)
            case "last_answer": try scanner.read(&lastAnswer, key)
            case "last_success": try scanner.read(&lastSuccess, key)
            case "requests": try scanner.read(&requests, key)
            case "resent": try scanner.read(&resent, key)
            case "maybe_duplicate": try scanner.read(&maybeDuplicate, key)
            case "bytes_today": try scanner.read(&bytesToday, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            name: try name.required("name"),
            kind: try kind.required("kind"),
            state: try state.required("state"),
            reason: reason,
            advice: advice,
            ledger: try ledger.required("ledger"),
            oldestPending: oldestPending,
            nextAttempt: nextAttempt,
            lastAnswer: lastAnswer,
            lastSuccess: lastSuccess,
            requests: try requests.required("requests"),
            resent: try resent.required("resent"),
            maybeDuplicate: try maybeDuplicate.required("maybe_duplicate"),
            bytesToday: try bytesToday.required("bytes_today")
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("name", name)
        writer.member("kind", kind)
        writer.member("state", state)
        writer.member("reason", ifPresent: reason)
        writer.member("advice", ifPresent: advice)
        writer.member("ledger", ledger)
        writer.member("oldest_pending", ifPresent: oldestPending)
        writer.member("next_attempt", ifPresent: nextAttempt)
        writer.member("last_answer", ifPresent: lastAnswer)
        writer.member("last_success", ifPresent: lastSuccess)
        writer.member("requests", requests)
        writer.member("resent", resent)
        writer.member("maybe_duplicate", maybeDuplicate)
        writer.member("bytes_today", bytesToday)
        writer.closeObject()
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
    package subscript(fate: Fate) -> Int64 {
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

extension Ledger: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var received: Int64?
        var counts: [Fate: Int64] = [:]
        try scanner.openFields()
        while let key = try scanner.nextField() {
            if key == "received" {
                try scanner.read(&received, key)
            } else if let fate = Fate(name: key) {
                try scanner.read(&counts[fate], key)
            } else {
                try scanner.skipField(key)
            }
        }
        self.init()
        self.received = try received.required("received")
        for fate in Fate.allCases { self[fate] = try counts[fate].required(fate.name) }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("received", received)
        for fate in Fate.allCases { writer.member(fate.name, self[fate]) }
        writer.closeObject()
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
    package var since: Timestamp
    /// The number of groups held back; nil from a daemon that lists each group separately.
    package var groups: Int64?

    package init(
        destination: String, app: String?, group: String?, reason: SuppressionReason, count: Int64, since: Timestamp,
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

extension Suppression: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var destination: String?
        var app: String?
        var group: String?
        var reason: SuppressionReason?
        var count: Int64?
        var since: Timestamp?
        var groups: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destination": try scanner.read(&destination, key)
            case "app": try scanner.read(&app, key)
            case "group": try scanner.read(&group, key)
            case "reason": try scanner.read(&reason, key)
            case "count": try scanner.read(&count, key)
            case "since": try scanner.read(&since, key)
            case "groups": try scanner.read(&groups, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            destination: try destination.required("destination"),
            app: app,
            group: group,
            reason: try reason.required("reason"),
            count: try count.required("count"),
            since: try since.required("since"),
            groups: groups
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destination", destination)
        writer.member("app", ifPresent: app)
        writer.member("group", ifPresent: group)
        writer.member("reason", reason)
        writer.member("count", count)
        writer.member("since", since)
        writer.member("groups", ifPresent: groups)
        writer.closeObject()
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
