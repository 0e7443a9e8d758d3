package import IssueWire

/// The status of a destination (`Destination` on the wire).
///
/// If the destination is no longer configured, ``reason`` says so, and only its name, its kind, the outcomes of its
/// records, the number of pending corrections and ``oldestPending`` are known.
public struct DestinationStatus: Equatable, Sendable {
    /// The name in the daemon's configuration.
    public var name: String
    /// The kind of the destination.
    public var kind: String
    /// The current activity.
    public var state: DestinationState
    /// The reason for waiting or being paused. If idle, the last failure, or a note that the destination is no longer
    /// configured. Nil if there is none.
    public var reason: String?
    /// The time at which the destination stopped accepting records, even if the daemon has been restarted since. Nil if
    /// the destination accepts records.
    public var failingSince: IssueTimestamp?
    /// What an operator can do. Nil if there is no advice, or the caller may not see all records.
    public var advice: String?
    /// The number of records with each fate.
    package var ledger: Ledger
    /// The number of pending lines about corrections of the grouping and about undoing them. Nil if there are none.
    package var pendingCorrections: Int?
    /// The time at which the oldest pending record was received, or the oldest pending correction was made. Nil if
    /// nothing is pending, or the caller may not see all records.
    public var oldestPending: IssueTimestamp?
    /// The time of the next attempt. Nil unless the destination is waiting or paused.
    public var nextAttempt: IssueTimestamp?
    /// The destination's last response. Nil if there is none, or the caller may not see all records.
    public var lastAnswer: String?
    /// The time at which the destination last accepted a record, summary or correction. Nil if it accepted none.
    public var lastSuccess: IssueTimestamp?
    /// The time at which a record, summary or correction last became a dead letter. Nil if no records are dead letters,
    /// if the daemon is too old to send it, or if the caller may not see all records.
    package var lastDeadLetter: IssueTimestamp?
    /// The time at which pending records last expired, apart from unreadable ones. Nil if none did, if the daemon is
    /// too old to send it, or if the caller may not see all records.
    package var lastExpired: IssueTimestamp?
    /// The number of requests since the destination was added. 0 if the caller may not see all records.
    public var requests: Int
    /// The number of lines (records, summaries and corrections) that were sent again since the destination was added. A
    /// line counts each time. 0 if the caller may not see all records.
    public var resent: Int
    /// The number of lines that the destination may have received twice since it was added. 0 if the caller may not see
    /// all records.
    public var possibleDuplicates: Int
    /// The number of bytes that were sent today (UTC). 0 if the caller may not see all records.
    public var bytesToday: Int

    package init(
        name: String, kind: String, state: DestinationState = .idle, reason: String? = nil,
        failingSince: IssueTimestamp? = nil, advice: String? = nil,
        ledger: Ledger = Ledger(), pendingCorrections: Int? = nil, oldestPending: IssueTimestamp? = nil,
        nextAttempt: IssueTimestamp? = nil, lastAnswer: String? = nil, lastSuccess: IssueTimestamp? = nil,
        lastDeadLetter: IssueTimestamp? = nil, lastExpired: IssueTimestamp? = nil, requests: Int = 0, resent: Int = 0,
        possibleDuplicates: Int = 0, bytesToday: Int = 0
    ) {
        self.name = name
        self.kind = kind
        self.state = state
        self.reason = reason
        self.failingSince = failingSince
        self.advice = advice
        self.ledger = ledger
        self.pendingCorrections = pendingCorrections
        self.oldestPending = oldestPending
        self.nextAttempt = nextAttempt
        self.lastAnswer = lastAnswer
        self.lastSuccess = lastSuccess
        self.lastDeadLetter = lastDeadLetter
        self.lastExpired = lastExpired
        self.requests = requests
        self.resent = resent
        self.possibleDuplicates = possibleDuplicates
        self.bytesToday = bytesToday
    }
}

extension DestinationStatus {
    /// The number of records received since the destination was added and, with `Backlog=all`, of those stored before,
    /// without those that a purge has erased. If ``balances`` is
    /// `true`, it equals the sum of all outcomes.
    public var received: Int { Int(clamping: ledger.received) }

    /// Whether the outcomes add up to the number of received records. If they do not, the daemon has a bug.
    public var balances: Bool { ledger.balances }

    /// Returns the number of records with an outcome.
    ///
    /// - Parameter outcome: The outcome.
    /// - Returns: The number of records.
    public func count(of outcome: IssueFate.Outcome) -> Int {
        Int(clamping: ledger[outcome])
    }
}

extension DestinationStatus: CustomStringConvertible {
    /// The activity and the progress in one line.
    public var description: String {
        let reason = reason.map { " (\($0))" } ?? ""
        let counts = "\(count(of: .delivered)) of \(received) records delivered, \(count(of: .pending)) pending"
        return TerminalSanitizer.line("\(name): \(state.rawValue)\(reason), \(counts)")
    }
}

extension DestinationStatus: JSONObjectCodable {
    package static var initial: Self { Self(name: "", kind: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("name", &name)
        try members.required("kind", &kind)
        try members.required("state", &state)
        try members.optional("reason", &reason)
        try members.optional("failing_since", &failingSince)
        try members.optional("advice", &advice)
        try members.required("ledger", &ledger)
        try members.optional("corrections_pending", &pendingCorrections)
        try members.optional("oldest_pending", &oldestPending)
        try members.optional("next_attempt", &nextAttempt)
        try members.optional("last_answer", &lastAnswer)
        try members.optional("last_success", &lastSuccess)
        try members.optional("last_dead_letter", &lastDeadLetter)
        try members.optional("last_expired", &lastExpired)
        try members.required("requests", &requests)
        try members.required("resent", &resent)
        try members.required("maybe_duplicate", &possibleDuplicates)
        try members.required("bytes_today", &bytesToday)
    }
}

/// The current activity of a destination or notifier.
public enum DestinationState: String, CaseIterable, Sendable {
    /// Nothing is pending, a batch is being filled, or the destination is no longer configured.
    case idle
    /// A request is in flight, or a batch is being prepared or its outcome stored.
    case sending
    /// Records wait for the send rate or for the next attempt, or a failed request is being repeated.
    case waiting
    /// A failure needs an operator. Unless the credential is missing or the configuration is invalid, a request is
    /// tried again from time to time.
    case paused
}

extension DestinationState: JSONStringEnum {}

/// The number of records with each fate at one destination. In a correct ledger, they add up to the number of received
/// records.
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

    /// Whether the fates add up to the number of received records.
    package var balances: Bool {
        var sum: Int64 = 0
        for fate in IssueFate.Outcome.allCases {
            let (next, overflow) = sum.addingReportingOverflow(self[fate])
            if overflow { return false }
            sum = next
        }
        return received == sum
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
