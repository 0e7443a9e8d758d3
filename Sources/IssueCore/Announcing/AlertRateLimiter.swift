/// Decides of which records operators are told one by one, and counts the others until it is time to tell of them all
/// at once.
///
/// What is new has a budget of its own, and what is critical or back has another,
/// so that none can be used up by the other. Each user has a limit, and all users
/// share another (`FairBucket`). As long as no more than `noisyUsers` of them are
/// loud at once, what is told of one goes by their own reports alone. With up to
/// `quietUsers` more, whoever was quiet is still told of.
package struct AlertRateLimiter: Sendable {
    /// One bucket for each kind of news.
    private struct Budget<Bucket: Sendable>: Sendable {
        private var new: Bucket
        private var grave: Bucket

        init(_ bucket: Bucket) {
            new = bucket
            grave = bucket
        }

        subscript(reason: PriorityReason) -> Bucket {
            get {
                switch reason {
                case .firstOfGroup: new
                case .critical, .regression: grave
                }
            }
            set {
                switch reason {
                case .firstOfGroup: new = newValue
                case .critical, .regression: grave = newValue
                }
            }
        }
    }

    private struct User: Sendable {
        var budget: Budget<TokenBucket>
        var untold: Int64 = 0
    }

    package static let ofUser = BucketLimit(burst: 10, refill: Rate(5, per: .seconds(60)))
    package static let noisyUsers: Int64 = 4
    package static let quietUsers: Int64 = 40
    /// A fifth of it is for the quiet users.
    package static let ofAll = BucketLimit(
        burst: quietUsers * 5, refill: Rate(ofUser.refill.count * noisyUsers, per: ofUser.refill.period))
    /// How long it is counted what is left out.
    package static let suppressedFor: Duration = .seconds(60)
    package static let maxUsers = 256

    private let timeout: Duration
    private var all: Budget<FairBucket>
    private var users: RecencyTable<UInt32, User>
    private var untold = SuppressedAlerts()
    /// When it has to be told what was left out, if something was.
    package private(set) var suppressedDue: RecordLogInstant?

    package init(timeout: Duration = suppressedFor, at now: RecordLogInstant) {
        self.timeout = timeout
        all = Budget(FairBucket(Self.ofAll, at: now))
        users = RecencyTable(capacity: Self.maxUsers)
    }

    /// How many users' shares it holds.
    package var userCount: Int { users.count }

    /// Whether a record is told of by itself; one that is not is counted.
    package mutating func tells(_ news: News, at now: RecordLogInstant) -> Bool {
        if !users.contains(news.uid) {
            _ = users.insert(User(budget: Budget(TokenBucket(Self.ofUser, at: now))), for: news.uid)
        }
        let isInBudget = all[news.reason].has(for: news.uid, at: now)
        let isTold =
            users.update(news.uid) { user in
                guard isInBudget, user.budget[news.reason].has(at: now) else {
                    user.untold = user.untold.clampedSum(1)
                    return false
                }
                user.budget[news.reason].take(at: now)
                return true
            } ?? false
        if isTold {
            all[news.reason].take(for: news.uid, at: now)
        } else {
            untold.add(news.reason)
            suppressedDue = suppressedDue ?? now.advanced(by: timeout)
        }
        return isTold
    }

    /// What was left out since this was asked last; from then on it is counted anew.
    package mutating func takeSuppressed() -> SuppressedAlerts {
        var taken = untold
        let loud = users.all.filter { $0.value.untold > 0 }.sorted {
            ($1.value.untold, $0.key) < ($0.value.untold, $1.key)
        }
        taken.users = loud.prefix(SuppressedAlerts.maxUsers).map { .init(uid: $0.key, count: $0.value.untold) }
        taken.otherUsers = loud.count - taken.users.count
        users.updateAll { _, user in user.untold = 0 }
        untold = SuppressedAlerts()
        suppressedDue = nil
        return taken
    }
}

/// A record that operators are told of.
package struct News: Equatable, Sendable {
    package var record: Int64
    package var reason: PriorityReason
    /// The user who answers for the sender.
    package var uid: UInt32

    package init(record: Int64, reason: PriorityReason, uid: UInt32) {
        self.record = record
        self.reason = reason
        self.uid = uid
    }
}

/// How much of what happened operators were not told one by one.
package struct SuppressedAlerts: Equatable, Sendable {
    /// How much it was of one user.
    package struct User: Equatable, Sendable {
        package var uid: UInt32
        package var count: Int64

        package init(uid: UInt32, count: Int64) {
            self.uid = uid
            self.count = count
        }
    }

    package static let maxUsers = 5

    package private(set) var new: Int64 = 0
    package private(set) var critical: Int64 = 0
    package private(set) var regressed: Int64 = 0
    /// The users with most of it, the loudest first.
    package var users: [User] = []
    /// How many users besides had some of it, as far as so many are remembered.
    package var otherUsers = 0

    package init() {}

    package var isNothing: Bool { new == 0 && critical == 0 && regressed == 0 }
    /// Whether something that can't wait is among it.
    package var isUrgent: Bool { critical > 0 || regressed > 0 }

    package mutating func add(_ reason: PriorityReason) {
        switch reason {
        case .firstOfGroup: new = new.clampedSum(1)
        case .critical: critical = critical.clampedSum(1)
        case .regression: regressed = regressed.clampedSum(1)
        }
    }
}

/// Why a record goes before the backlog, and operators are told of it.
package enum PriorityReason: Int64, CaseIterable, Hashable, Sendable {
    case critical = 1
    case firstOfGroup
    /// What was resolved has come back with it.
    case regression
}

/// Limits how often state changes by ordinary users are logged one by one, so that none of them fills the log.
///
/// It counts within windows of a minute. The number left out of a window is reported with the first change after it.
package struct ChangeLogLimit: Sendable {
    package static let perUser = 10
    package static let perMinute = 60
    private static let window: Duration = .seconds(60)

    private var begin: MonotonicInstant?
    private var counts: [UInt32: Int] = [:]
    private var logged = 0
    private var leftOut = 0

    package init() {}

    /// Counts a change.
    ///
    /// - Returns: Whether to log it, and how many of an earlier window were left out.
    package mutating func changed(by uid: UInt32, at now: MonotonicInstant) -> (isLogged: Bool, leftOut: Int) {
        var told = 0
        if begin.map({ $0.advanced(by: Self.window) <= now }) ?? true {
            told = leftOut
            self = ChangeLogLimit()
            begin = now
        }
        // `counts` has at most one entry for each logged line.
        guard logged < Self.perMinute, counts[uid, default: 0] < Self.perUser else {
            leftOut += 1
            return (false, told)
        }
        logged += 1
        counts[uid, default: 0] += 1
        return (true, told)
    }
}
