package import IssueProtocol

/// Decides which records are announced to operators one by one, and counts the others for a later collective message.
///
/// There is one budget for new groups and another for critical and regressed records, so a flood of one kind does not
/// hide the other. In each budget, every user has a limit, and all users share a second one (`FairBucket`), which
/// refills as fast as the limits of `noisyUsers` users together. The shared limit reserves one announcement for each of
/// `quietUsers` quiet users.
package struct AnnouncementRateLimiter: Sendable {
    /// Two buckets, or the demand on them: one for new groups, and one for critical and regressed records.
    private struct Budget<Bucket: Sendable>: Sendable {
        private var (new, urgent): (Bucket, Bucket)

        init(_ bucket: Bucket) {
            (new, urgent) = (bucket, bucket)
        }

        subscript(reason: PriorityReason) -> Bucket {
            get { reason == .firstOfGroup ? new : urgent }
            set { if reason == .firstOfGroup { new = newValue } else { urgent = newValue } }
        }
    }

    private struct User: Sendable {
        var budget: Budget<TokenBucket>
        var demand = Budget<BucketDemand?>(nil)
        var suppressed: Int64 = 0
    }

    /// The limit of one user in each budget.
    package static let userLimit = BucketLimit(burst: 10, refill: Rate(5, per: .seconds(60)))
    /// The number of users whose limits together refill as fast as the shared limit.
    package static let noisyUsers: Int64 = 4
    /// The number of quiet users for whom the shared limit reserves one announcement each.
    package static let quietUsers: Int64 = 40
    /// The limit of all users together in each budget. A fifth of its burst is reserved for quiet users.
    package static let totalLimit = BucketLimit(
        burst: quietUsers * 5, refill: Rate(userLimit.refill.count * noisyUsers, per: userLimit.refill.period))
    /// How long suppressed announcements are counted before they are reported.
    package static let suppressionReportDelay: Duration = .seconds(60)
    /// The maximum number of users remembered.
    package static let maxUsers = 256

    private let reportDelay: Duration
    private var all: Budget<FairBucket>
    private var allDemand = Budget<BucketDemand?>(nil)
    private var users: RecencyTable<UInt32, User>
    private var suppressed = SuppressedAnnouncements()
    /// The time at which suppressed announcements must be reported; nil if there are none.
    package private(set) var suppressedDue: RecordLogInstant?

    /// - Parameters:
    ///   - reportDelay: How long suppressed announcements are counted before they are reported.
    ///   - now: The current time. All calls must use the same clock.
    package init(reportDelay: Duration = suppressionReportDelay, at now: RecordLogInstant) {
        self.reportDelay = reportDelay
        all = Budget(FairBucket(Self.totalLimit, at: now))
        users = RecencyTable(capacity: Self.maxUsers)
    }

    /// Returns `true` if an announcement for the record is logged individually. Otherwise the announcement is counted.
    package mutating func admits(_ record: PriorityRecord, at now: RecordLogInstant) -> Bool {
        if !users.contains(record.uid) {
            _ = users.insert(User(budget: Budget(TokenBucket(Self.userLimit, at: now))), for: record.uid)
        }
        let hasSharedToken = all[record.reason].has(for: record.uid, at: now)
        var hasOwnToken = false
        let isAdmitted =
            users.update(record.uid) { user in
                hasOwnToken = user.budget[record.reason].has(at: now)
                if !hasOwnToken, user.demand[record.reason] == nil {
                    let bucket = user.budget[record.reason]
                    user.demand[record.reason] = BucketDemand(behind: bucket, Self.userLimit, at: now)
                }
                user.demand[record.reason]?.add(1, held: hasOwnToken ? 0 : 1, at: now)
                guard hasSharedToken, hasOwnToken else {
                    user.suppressed = user.suppressed.clampedSum(1)
                    return false
                }
                user.budget[record.reason].take(at: now)
                return true
            } ?? false
        if hasOwnToken { recordDemand(on: record.reason, isHeld: !hasSharedToken, at: now) }
        if isAdmitted {
            all[record.reason].take(for: record.uid, at: now)
        } else {
            suppressed.add(record.reason)
            suppressedDue = suppressedDue ?? now.advanced(by: reportDelay)
        }
        return isAdmitted
    }

    /// Records demand on the limit of all users together.
    private mutating func recordDemand(on reason: PriorityReason, isHeld: Bool, at now: RecordLogInstant) {
        if isHeld, allDemand[reason] == nil {
            allDemand[reason] = BucketDemand(behind: all[reason].tokens, Self.totalLimit, .shared, at: now)
        }
        allDemand[reason]?.add(1, held: isHeld ? 1 : 0, at: now)
    }

    /// Returns the statuses of the limits of all users together, and of those limits of single users that are partly
    /// used or have held back announcements.
    package func statuses(at now: RecordLogInstant) -> [LimitStatus] {
        let kinds: [(PriorityReason, LimitStatus.Name)] = [
            (.firstOfGroup, .announcementsNew), (.critical, .announcementsUrgent),
        ]
        return kinds.flatMap { reason, name -> [LimitStatus] in
            func status(
                _ uid: UInt32?, _ bucket: TokenBucket, _ limit: BucketLimit, _ demand: BucketDemand?
            ) -> LimitStatus {
                LimitStatus(
                    name, uid: uid, level: bucket.tokens(at: now), capacity: bucket.capacity,
                    refill: limit.refill.count, period: limit.refill.period, held: demand?.held(at: now) ?? 0,
                    needed: demand?.needed(at: now) ?? [])
            }
            return [status(nil, all[reason].tokens, Self.totalLimit, allDemand[reason])]
                + users.all.map { status($0.key, $0.value.budget[reason], Self.userLimit, $0.value.demand[reason]) }
                .filter { $0.held > 0 || $0.level != $0.capacity }
        }
    }

    /// Returns the announcements suppressed since the last call, and resets the counters.
    package mutating func takeSuppressed() -> SuppressedAnnouncements {
        var taken = suppressed
        let noisy = users.all.filter { $0.value.suppressed > 0 }.sorted {
            ($1.value.suppressed, $0.key) < ($0.value.suppressed, $1.key)
        }
        taken.users = noisy.prefix(SuppressedAnnouncements.maxUsers).map {
            .init(uid: $0.key, count: $0.value.suppressed)
        }
        taken.otherUsers = noisy.count - taken.users.count
        users.updateAll { _, user in user.suppressed = 0 }
        suppressed = SuppressedAnnouncements()
        suppressedDue = nil
        return taken
    }
}

/// A record to announce to operators, unless the rate limit suppresses the announcement.
package struct PriorityRecord: Equatable, Sendable {
    /// The record's row id.
    package var row: RowID
    package var reason: PriorityReason
    /// The user accountable for the sender.
    package var uid: UInt32
    /// How the record changes its group. Empty for a further critical record of a critical group.
    package var change: NotificationKinds

    package init(row: RowID, reason: PriorityReason, uid: UInt32, change: NotificationKinds = []) {
        self.row = row
        self.reason = reason
        self.uid = uid
        self.change = change
    }
}

/// The numbers of announcements that were not logged individually.
package struct SuppressedAnnouncements: Equatable, Sendable {
    /// The number of suppressed announcements of one user.
    package struct User: Equatable, Sendable {
        package var uid: UInt32
        package var count: Int64
    }

    /// The maximum number of users listed individually.
    package static let maxUsers = 5

    /// The number of records that are the first of their group, and neither critical nor a regression.
    package private(set) var new: Int64 = 0
    /// The number of critical records that are not regressions.
    package private(set) var critical: Int64 = 0
    /// The number of regressions.
    package private(set) var regressed: Int64 = 0
    /// The users with the most suppressed announcements, in descending order.
    package var users: [User] = []
    /// The number of other remembered users with suppressed announcements.
    package var otherUsers = 0

    package init() {}

    /// Whether no announcement was suppressed.
    package var isEmpty: Bool { new == 0 && critical == 0 && regressed == 0 }
    /// Whether announcements for critical or regressed records were suppressed.
    package var isUrgent: Bool { critical > 0 || regressed > 0 }

    /// Counts a suppressed announcement.
    package mutating func add(_ reason: PriorityReason) {
        switch reason {
        case .firstOfGroup: new = new.clampedSum(1)
        case .critical: critical = critical.clampedSum(1)
        case .regression: regressed = regressed.clampedSum(1)
        }
    }
}

/// The reason why a record is sent before the backlog and announced to operators.
package enum PriorityReason: Int64, CaseIterable, Hashable, Sendable {
    case critical = 1
    case firstOfGroup
    /// The record reopens a resolved group or ends a mute.
    case regression
}
