package import IssueWire

/// The status of a notifier (`Notifier` on the wire).
///
/// All counts begin when the notifier is added. ``received`` is always the sum of ``pending``, ``delivered`` and
/// ``givenUp``. If the notifier's section has an error, ``format`` is empty, ``advice`` names the error, and
/// ``lastAnswer`` is older than the error.
public struct NotifierStatus: Equatable, Sendable {
    /// The name in the daemon's configuration.
    public var name: String
    /// The format of its messages; empty if it is unknown.
    public var format: String
    /// The current activity.
    public var state: DestinationState
    /// The reason for waiting or being paused. Nil if there is none.
    public var reason: String?
    /// The error in the notifier's section, or how to find it. Nil if the section has no error.
    public var advice: String?
    /// The number of events for the notifier.
    public var received: Int
    /// The number of events that wait for a message or are in an unfinished one.
    public var pending: Int
    /// The number of events in messages that the receiver has accepted.
    public var delivered: Int
    /// The number of events that were given up: their message could not be delivered, or they were pending when the
    /// notifier was removed or the database was restored.
    public var givenUp: Int
    /// The number of events that a silence covered. ``received`` does not include them.
    public var silenced: Int
    /// The number of messages that the receiver has accepted.
    public var messages: Int
    /// The number of accepted messages that may have arrived more than once.
    public var repeated: Int
    /// The time at which the oldest pending event happened. Nil if none is pending.
    public var oldestPending: IssueTimestamp?
    /// The time of the next attempt. Nil unless the notifier is waiting or paused.
    public var nextAttempt: IssueTimestamp?
    /// The answer or error of the last attempt. Nil before the first attempt has ended.
    public var lastAnswer: String?
    /// The time at which the receiver last accepted a message, including a test message. Nil if it accepted none.
    public var lastSuccess: IssueTimestamp?
    /// The time at which a message was last given up after an attempt. Nil if none of the last 100 messages was.
    public var lastGivenUp: IssueTimestamp?

    package init(
        name: String, format: String, state: DestinationState = .idle, reason: String? = nil, advice: String? = nil,
        received: Int = 0, pending: Int = 0, delivered: Int = 0, givenUp: Int = 0, silenced: Int = 0,
        messages: Int = 0, repeated: Int = 0, oldestPending: IssueTimestamp? = nil, nextAttempt: IssueTimestamp? = nil,
        lastAnswer: String? = nil, lastSuccess: IssueTimestamp? = nil, lastGivenUp: IssueTimestamp? = nil
    ) {
        self.name = name
        self.format = format
        self.state = state
        self.reason = reason
        self.advice = advice
        self.received = received
        self.pending = pending
        self.delivered = delivered
        self.givenUp = givenUp
        self.silenced = silenced
        self.messages = messages
        self.repeated = repeated
        self.oldestPending = oldestPending
        self.nextAttempt = nextAttempt
        self.lastAnswer = lastAnswer
        self.lastSuccess = lastSuccess
        self.lastGivenUp = lastGivenUp
    }
}

extension NotifierStatus: CustomStringConvertible {
    /// The activity and the progress in one line.
    public var description: String {
        let reason = reason.map { " (\($0))" } ?? ""
        let counts = "\(delivered) of \(received) events delivered, \(pending) pending"
        return TerminalSanitizer.line("notifier \(name): \(state.rawValue)\(reason), \(counts)")
    }
}

extension NotifierStatus: JSONObjectCodable {
    package static var initial: Self { Self(name: "", format: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("name", &name)
        try members.required("format", &format)
        try members.required("state", &state)
        try members.optional("reason", &reason)
        try members.optional("advice", &advice)
        try members.required("received", &received)
        try members.required("pending", &pending)
        try members.required("delivered", &delivered)
        try members.required("given_up", &givenUp)
        try members.required("silenced", &silenced)
        try members.required("messages", &messages)
        try members.required("repeated", &repeated)
        try members.optional("oldest_pending", &oldestPending)
        try members.optional("next_attempt", &nextAttempt)
        try members.optional("last_answer", &lastAnswer)
        try members.optional("last_success", &lastSuccess)
        try members.optional("last_given_up", &lastGivenUp)
    }
}

/// A period in which notifiers do not report the events of certain issues (`Silence` on the wire).
///
/// The records of these issues are stored, counted and forwarded as usual.
package struct IssueSilence: Equatable, Sendable {
    /// The maximum duration, in days.
    package static let maxDays = 366

    /// The id that the daemon assigned; empty in a request.
    package var id: String
    /// The names of applications. A name may end with `*`, which matches any text. An empty list matches all.
    package var apps: [String]
    /// The names of environments, with the same rules as `apps`.
    package var environments: [String]
    /// The names of systemd units, with the same rules as `apps`.
    package var units: [String]
    /// The ids of groups. An empty list matches all.
    package var groups: [String]
    /// The time at which it ends.
    package var until: IssueTimestamp
    /// The reason that the user gave.
    package var reason: String
    /// The user who added it; 0 in a request.
    package var uid: Int64
    /// The time at which it was added.
    package var at: IssueTimestamp
    /// The number of events that were not reported because of the silence. An event counts once for each notifier.
    package var count: Int64

    package init(
        id: String = "", apps: [String] = [], environments: [String] = [], units: [String] = [],
        groups: [String] = [], until: IssueTimestamp, reason: String, uid: Int64 = 0, at: IssueTimestamp = .epoch,
        count: Int64 = 0
    ) {
        self.id = id
        self.apps = apps
        self.environments = environments
        self.units = units
        self.groups = groups
        self.until = until
        self.reason = reason
        self.uid = uid
        self.at = at
        self.count = count
    }
}

extension IssueSilence: JSONObjectCodable {
    package static var initial: Self { Self(until: .epoch, reason: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("id", &id, "")
        try members.nonempty("apps", &apps)
        try members.nonempty("environments", &environments)
        try members.nonempty("units", &units)
        try members.nonempty("groups", &groups)
        try members.required("until", &until)
        try members.required("reason", &reason)
        try members.defaulted("uid", &uid, 0)
        try members.defaulted("at", &at, .epoch)
        try members.defaulted("count", &count, 0)
    }
}

/// The parameters of `TestNotifier`.
package struct TestNotifierParameters: Equatable, JSONObjectCodable, Sendable {
    package var notifier: String

    package init(notifier: String) {
        self.notifier = notifier
    }

    package static var initial: Self { Self(notifier: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("notifier", &notifier)
    }
}

/// The reply of `TestNotifier`: the result of one attempt to send a test message.
package struct TestNotifierReply: Equatable, JSONObjectCodable, Sendable {
    /// Whether the receiver has accepted the message.
    package var delivered: Bool
    /// The receiver's answer, or the reason for the failure.
    package var answer: String

    package init(delivered: Bool, answer: String) {
        self.delivered = delivered
        self.answer = answer
    }

    package static var initial: Self { Self(delivered: false, answer: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("delivered", &delivered)
        try members.required("answer", &answer)
    }
}

/// The parameters and the reply of `AddSilence`.
package struct AddSilenceMessage: Equatable, JSONObjectCodable, Sendable {
    package var silence: IssueSilence

    package init(silence: IssueSilence) {
        self.silence = silence
    }

    package static var initial: Self { Self(silence: .initial) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("silence", &silence)
    }
}

/// The reply of `ListSilences`, and of `EndSilence` with the remaining silences.
package struct SilencesReply: Equatable, JSONObjectCodable, Sendable {
    package var silences: [IssueSilence]

    package init(silences: [IssueSilence]) {
        self.silences = silences
    }

    package static var initial: Self { Self(silences: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("silences", &silences, [])
    }
}
