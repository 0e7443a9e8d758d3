/// Decides of which records operators are told one by one, and counts the others until it is time to tell of them all
/// at once.
///
/// What is new has a budget of its own, and what is critical or back has another,
/// so that none can be used up by the other. Each user has a limit, and all users
/// share another (`FairBucket`). As long as no more than `noisyUsers` of them are
/// loud at once, what is told of one goes by their own reports alone. With up to
/// `quietUsers` more, whoever was quiet is still told of.
package struct NewsLimit: Sendable {
    /// One bucket for each kind of news.
    private struct Budget<Bucket: Sendable>: Sendable {
        private var new: Bucket
        private var grave: Bucket

        init(_ bucket: Bucket) {
            new = bucket
            grave = bucket
        }

        subscript(reason: ExpressReason) -> Bucket {
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
    package static let untoldFor: Duration = .seconds(60)
    package static let mostUsers = 256

    private let patience: Duration
    private var all: Budget<FairBucket>
    private var users: RecencyTable<UInt32, User>
    private var untold = UntoldNews()
    /// When it has to be told what was left out, if something was.
    package private(set) var untoldDue: LogInstant?

    package init(patience: Duration = untoldFor, at now: LogInstant) {
        self.patience = patience
        all = Budget(FairBucket(Self.ofAll, at: now))
        users = RecencyTable(capacity: Self.mostUsers)
    }

    /// How many users' shares it holds.
    package var userCount: Int { users.count }

    /// Whether a record is told of by itself; one that is not is counted.
    package mutating func tells(_ news: News, at now: LogInstant) -> Bool {
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
            untoldDue = untoldDue ?? now.advanced(by: patience)
        }
        return isTold
    }

    /// What was left out since this was asked last; from then on it is counted anew.
    package mutating func takeUntold() -> UntoldNews {
        var taken = untold
        let loud = users.all.filter { $0.value.untold > 0 }.sorted {
            ($1.value.untold, $0.key) < ($0.value.untold, $1.key)
        }
        taken.users = loud.prefix(UntoldNews.maxUsers).map { .init(uid: $0.key, count: $0.value.untold) }
        taken.otherUsers = loud.count - taken.users.count
        users.updateAll { _, user in user.untold = 0 }
        untold = UntoldNews()
        untoldDue = nil
        return taken
    }
}
