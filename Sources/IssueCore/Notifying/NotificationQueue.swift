package import IssueProtocol

/// An entry of a notifier's queue: an event to report, or a count of further events of one user or of the daemon.
package struct Notice: Equatable, Sendable {
    package var id: Int64
    package var kinds: NotificationKinds
    /// The record that caused the event; nil for events without a record, such as a reached limit, and for counted
    /// events.
    package var record: RowID?
    /// The user accountable for the event; nil for events of the daemon itself.
    package var uid: UInt32?
    /// The number of events; 1 unless they are only counted.
    package var count: Int64
    /// The description of an event without a record; nil for events with a record and for counted events.
    package var text: String?
    package var at: IssueTimestamp

    package init(
        id: Int64 = 0, kinds: NotificationKinds, record: RowID? = nil, uid: UInt32? = nil, count: Int64 = 1,
        text: String? = nil, at: IssueTimestamp
    ) {
        self.id = id
        self.kinds = kinds
        self.record = record
        self.uid = uid
        self.count = count
        self.text = text
        self.at = at
    }

    /// Whether the entry only counts events.
    package var isOnlyCounted: Bool { record == nil && text == nil }

    /// The destination whose state the event reports; nil for any other event.
    fileprivate var destination: String? {
        kinds.isSubset(of: .destinationStates) ? text.flatMap { kinds.destination(in: $0) } : nil
    }
}

/// Limits the number of events that have their own entries in a notifier's queue. It counts these entries and does not
/// hold them.
///
/// Each user has a limited number of these entries. Further events are only counted, so a flood from one user does not
/// displace the events of others. A user's first event of each kind always gets an entry, so a flood of new issues does
/// not hide one that has escalated. Users' events don't count towards the limit for events about the state of
/// destinations, because the newest of these must be listed.
package struct NoticeLimiter: Equatable, Sendable {
    /// The maximum number of entries of one user, and of all users together. A user's first event of each kind may
    /// exceed both. An event about the state of a destination gets an entry as long as the daemon itself has fewer than
    /// `maxEntries`.
    package static let maxEntriesOfUser = 20
    package static let maxEntries = 1000

    /// The number of entries by user. The key nil is the daemon itself.
    private var entries: [UInt32?: Int] = [:]
    /// The kinds of each user's entries, as `NotificationKinds.urgency`.
    private var urgencies: [UInt32?: Set<Int>] = [:]
    private var total = 0

    /// - Parameter waiting: The events that are already waiting.
    package init(_ waiting: [Notice] = []) {
        for notice in waiting where !notice.isOnlyCounted {
            countEntry(notice.uid, notice.kinds)
        }
    }

    /// Decides whether an event gets an entry of its own. If so, counts the entry and returns `true`.
    ///
    /// - Parameters:
    ///   - user: The accountable user; nil for an event of the daemon itself.
    ///   - kinds: The kinds of the event. Only the most urgent one is considered.
    package mutating func add(_ user: UInt32?, _ kinds: NotificationKinds) -> Bool {
        let isFirst = !urgencies[user, default: []].contains(kinds.urgency)
        let own = entries[user, default: 0]
        let hasRoom =
            kinds.isSubset(of: .destinationStates)
            ? own < Self.maxEntries : own < Self.maxEntriesOfUser && total < Self.maxEntries
        guard isFirst || hasRoom else { return false }
        countEntry(user, kinds)
        return true
    }

    private mutating func countEntry(_ user: UInt32?, _ kinds: NotificationKinds) {
        entries[user, default: 0] += 1
        urgencies[user, default: []].insert(kinds.urgency)
        total += 1
    }
}

/// Decides when the next message of a notifier may be sent.
///
/// A message contains all waiting events and is charged to one of their users. A user who has used up their share
/// therefore delays only their own events.
package struct NotificationPacer: Sendable {
    /// The minimum burst. A fifth of the burst is reserved for quiet users, and must be at least one token.
    package static let minBurst: Int64 = 5

    private var bucket: FairBucket
    /// How long events are gathered before they are sent together.
    private let delay: Duration

    /// - Parameters:
    ///   - limit: The rate limit for messages. If it is unlimited, each message is sent as soon as its events have been
    ///     gathered.
    ///   - delay: How long events are gathered.
    ///   - now: The current time.
    package init(_ limit: BucketLimit, delay: Duration, at now: RecordLogInstant) {
        bucket = FairBucket(limit, at: now)
        self.delay = delay
    }

    /// Returns when the next message may be sent; nil if nothing waits.
    ///
    /// - Parameters:
    ///   - waiting: The waiting events.
    ///   - since: When the first of them arrived.
    ///   - now: The current time.
    package func whenNext(
        _ waiting: [Notice], since: RecordLogInstant, at now: RecordLogInstant
    ) -> RecordLogInstant? {
        let gathered = max(now, since.advanced(by: delay))
        return Set(waiting.map(\.uid)).map { bucket.whenNext(for: $0, after: gathered) }.min()
    }

    /// Charges a message to one of its users. `whenNext` must have returned a time that is not after `now`.
    ///
    /// Of the users who have a token, the one with the most events is charged.
    package mutating func take(_ message: [Notice], at now: RecordLogInstant) {
        var counts: [UInt32?: Int64] = [:]
        for notice in message { counts[notice.uid, default: 0] += notice.count }
        let users = counts.sorted { ($1.value, $0.key ?? 0) < ($0.value, $1.key ?? 0) }.map(\.key)
        guard let user = users.first(where: { bucket.has(for: $0, at: now) }) else { return }
        bucket.take(for: user, at: now)
    }
}

/// The events that a message lists individually, and the numbers of all and of the unlisted events.
package struct NotificationDigest: Equatable, Sendable {
    /// Events that the message does not list: of one user, of several users together, or of the daemon itself.
    package struct Others: Equatable, Sendable {
        /// Nil for the sum of users who are not listed individually, and for the daemon.
        package var uid: UInt32?
        /// Whether the events are those of the daemon itself, which no user has caused.
        package var isOfDaemon: Bool
        package var count: Int64

        package init(uid: UInt32?, isOfDaemon: Bool = false, count: Int64) {
            self.uid = uid
            self.isOfDaemon = isOfDaemon
            self.count = count
        }
    }

    /// The number of events of one kind.
    package struct Count: Equatable, Sendable {
        package var kind: NotificationKinds
        package var count: Int64

        package init(kind: NotificationKinds, count: Int64) {
            self.kind = kind
            self.count = count
        }
    }

    /// The maximum number of listed events, not counting those about the state of destinations.
    package static let maxListed = 10
    /// The maximum number of users whose unlisted events are counted individually.
    package static let maxUsers = 5

    /// The listed events, the most urgent first. They are chosen from each user in turn. A user's first event of each
    /// kind is chosen before their further events. The newest event about the state of each destination is always
    /// listed, and no older one, so that an alert in Alertmanager neither outlasts the outage nor ends before it.
    package private(set) var listed: [Notice] = []
    /// The numbers of other events: of the users with the most of them, of all remaining users together, and of the
    /// daemon itself.
    package private(set) var others: [Others] = []
    /// The number of all events, by kind. An event of two kinds counts for the more urgent one.
    package private(set) var counts: [Count] = []

    /// - Parameter notices: All events of the message.
    package init(_ notices: [Notice]) {
        for (kind, _) in NotificationKinds.named {
            let count = notices.reduce(Int64(0)) { sum, notice in
                notice.kinds.urgency == kind.urgency ? sum.clampedSum(notice.count) : sum
            }
            if count > 0 { counts.append(Count(kind: kind, count: count)) }
        }
        let order = { (left: Notice, right: Notice) in (left.kinds.urgency, left.id) < (right.kinds.urgency, right.id) }
        let entries = notices.filter { !$0.isOnlyCounted }
        let states = Dictionary(grouping: entries.filter { $0.destination != nil }, by: \.destination).values
        var queues = Dictionary(grouping: entries.filter { $0.destination == nil }, by: \.uid).values
            .map { Self.firstOfEachKindFirst($0.sorted(by: order))[...] }
            .sorted { order($0[$0.startIndex], $1[$1.startIndex]) }
        var chosen: [Notice] = []
        while chosen.count < Self.maxListed, !queues.isEmpty {
            for index in queues.indices where chosen.count < Self.maxListed {
                if let next = queues[index].popFirst() { chosen.append(next) }
            }
            queues.removeAll(where: \.isEmpty)
        }
        listed = (chosen + states.compactMap { $0.max { $0.id < $1.id } }).sorted(by: order)
        let ids = Set(listed.map(\.id))
        var rest: [UInt32: Int64] = [:]
        var ofDaemon: Int64 = 0
        for notice in notices where notice.isOnlyCounted || !ids.contains(notice.id) {
            guard let uid = notice.uid else {
                ofDaemon = ofDaemon.clampedSum(notice.count)
                continue
            }
            rest[uid] = rest[uid, default: 0].clampedSum(notice.count)
        }
        let sorted = rest.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        others = sorted.prefix(Self.maxUsers).map { Others(uid: $0.key, count: $0.value) }
        let remaining = sorted.dropFirst(Self.maxUsers).reduce(Int64(0)) { $0.clampedSum($1.value) }
        if remaining > 0 { others.append(Others(uid: nil, count: remaining)) }
        if ofDaemon > 0 { others.append(Others(uid: nil, isOfDaemon: true, count: ofDaemon)) }
    }

    /// Returns the events, which are sorted by urgency, with the first one of each kind moved to the front.
    private static func firstOfEachKindFirst(_ notices: [Notice]) -> [Notice] {
        var seen: Set<Int> = []
        var (first, further): ([Notice], [Notice]) = ([], [])
        for notice in notices {
            if seen.insert(notice.kinds.urgency).inserted { first.append(notice) } else { further.append(notice) }
        }
        return first + further
    }
}

/// The age of a message. While the daemon runs, setting the wall clock does not change it.
package struct MessageAge: Equatable, Sendable {
    /// The maximum credible age of a stored message: twice the maximum of a notifier's `RetryFor=`. A higher age is
    /// attributed to a wrong wall clock.
    package static let maxStored: Duration = .seconds(60 * 86_400)

    /// The time at which the message was created. This may be before the host was started.
    private let created: MonotonicInstant

    /// Computes the age of a stored message, which an earlier run may have created.
    ///
    /// Only the wall clock covers a restart. An age below zero or above `maxStored` counts as zero, so the message is
    /// retried as if it were new.
    ///
    /// - Parameters:
    ///   - stored: The wall time at which the message was created.
    ///   - wall: The current wall time.
    ///   - monotonic: The current monotonic time.
    package init(since stored: IssueTimestamp, wall: IssueTimestamp, monotonic: MonotonicInstant) {
        let elapsed = stored.duration(to: wall)
        let isCredible = elapsed >= .zero && elapsed <= Self.maxStored
        created = monotonic.advanced(by: isCredible ? Duration.zero - elapsed : Duration.zero)
    }

    /// Returns the age at a time.
    package func duration(at now: MonotonicInstant) -> Duration { created.duration(to: now) }
}

/// What to do after an attempt to send a message.
package enum NotificationOutcome: Equatable, Sendable {
    case delivered
    /// Send it again after a delay. `mayHaveArrived` is `true` if the receiver may have acted on this attempt.
    case retry(after: Duration, mayHaveArrived: Bool)
    /// The receiver will never accept it, or the next attempt would come too late.
    case givenUp

    private static let firstDelay: Duration = .seconds(1)
    private static let maxDelay: Duration = .seconds(300)

    /// Creates the outcome of an attempt.
    ///
    /// - Parameters:
    ///   - verdict: The result of the attempt.
    ///   - attempts: The number of attempts so far, including this one.
    ///   - age: The time since the message was created.
    ///   - retryFor: How long a message is retried.
    package init(_ verdict: DeliveryVerdict, attempts: Int, age: Duration, retryFor: Duration) {
        var delay = Self.firstDelay * (1 << min(max(attempts - 1, 0), 10))
        delay = min(delay, Self.maxDelay)
        let mayHaveArrived: Bool
        switch verdict {
        case .accepted, .unconfirmed:
            self = .delivered
            return
        case .partial, .tooLarge:
            self = .givenUp
            return
        case .paused: mayHaveArrived = false
        case .ambiguous: mayHaveArrived = true
        case .again(let failure, let retryAfter):
            // The wait that a server requests is limited, so that it alone never delays an attempt beyond `retryFor`.
            if let retryAfter { delay = max(delay, min(retryAfter, RetrySchedule.maxRetryAfter, retryFor - age)) }
            switch failure {
            // The server may have acted on the request before the failure.
            case .serverError, .overloaded, .requestTimeout, .noAnswer: mayHaveArrived = true
            case .tooEarly, .tooManyRequests, .refused, .reset, .timeout, .unreachable, .tls: mayHaveArrived = false
            }
        }
        self = age + delay > retryFor ? .givenUp : .retry(after: delay, mayHaveArrived: mayHaveArrived)
    }
}
