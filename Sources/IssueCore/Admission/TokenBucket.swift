package import IssueProtocol

/// A bucket of tokens that fills with log time; each record let through takes one.
///
/// It counts in whole parts of a token, so that a hundred small refills add
/// up to one large one and a bucket that was stored and restored goes on as
/// if nothing had been.
package struct TokenBucket: Equatable, Sendable {
    /// The largest content in parts: up to here a level survives being stored as a floating point number.
    private static let maxParts: Int64 = 1 << 51

    /// Nothing where the bucket has no limit.
    struct Scale: Equatable {
        var capacity: Int64
        var partsPerToken: Int64
        var partsPerMillisecond: Int64

        /// - Note: A share of a small burst may come to less than a token; it still holds one, or it would be no share.
        init?(_ limit: BucketLimit) {
            guard !limit.isUnlimited, limit.share > .nothing else { return nil }
            partsPerToken = max(1, min(limit.refill.period.wholeMilliseconds, maxParts / 200)) * 100
            partsPerMillisecond = limit.refill.count.clampedProduct(limit.share.percent)
            let wanted = limit.burst.clampedProduct(limit.share.percent).clampedProduct(partsPerToken / 100)
            capacity = min(max(wanted, partsPerToken), maxParts)
        }
    }

    private(set) var scale: Scale?
    private(set) var parts: Int64
    /// Up to when it has been filled.
    package private(set) var at: RecordLogInstant

    /// - Parameter level: What it holds, in tokens; full where nothing is said.
    package init(_ limit: BucketLimit, level: Double? = nil, at: RecordLogInstant) {
        scale = Scale(limit)
        self.at = at
        parts = 0
        guard let scale else { return }
        if let level, level.isFinite {
            // The nearest whole number, without the mathematics library.
            let wanted = min(max(level, 0) * Double(scale.partsPerToken), Double(scale.capacity))
            parts = Int64(wanted + 0.5)
        } else {
            parts = scale.capacity
        }
    }

    package var isUnlimited: Bool { scale == nil }

    /// What it holds in tokens, as of `at`; this and `at` are what is stored. Nothing where there is no limit.
    package var level: Double? {
        guard let scale else { return nil }
        return Double(parts) / Double(scale.partsPerToken)
    }

    /// How many whole tokens it would hold.
    package func tokens(at now: RecordLogInstant) -> Int64 {
        guard let scale else { return .max }
        return max(0, filled(at: now) / scale.partsPerToken)
    }

    package func has(_ count: Int64 = 1, at now: RecordLogInstant) -> Bool {
        guard let scale else { return true }
        return filled(at: now) >= count.clampedProduct(scale.partsPerToken)
    }

    /// When there will be a token.
    package func whenNext(after now: RecordLogInstant) -> RecordLogInstant {
        guard let scale else { return now }
        let missing = scale.partsPerToken - filled(at: now)
        guard missing > 0 else { return now }
        let wait = missing.clampedSum(scale.partsPerMillisecond - 1) / scale.partsPerMillisecond
        return max(now, at).advanced(by: .milliseconds(wait))
    }

    /// Takes tokens that `has` found to be there.
    package mutating func take(_ count: Int64 = 1, at now: RecordLogInstant) {
        guard let scale else { return }
        parts = filled(at: now) - count.clampedProduct(scale.partsPerToken)
        at = max(at, now)
        precondition(parts >= 0, "A token was taken from a bucket that was not asked whether it has one")
    }

    /// Takes what is there, up to a count.
    package mutating func resumePreempted(to count: Int64, at now: RecordLogInstant) {
        take(min(count, tokens(at: now)), at: now)
    }

    /// The bucket under another limit, keeping what it holds.
    package func under(_ limit: BucketLimit) -> TokenBucket {
        TokenBucket(limit, level: level, at: at)
    }

    /// - Note: A moment before the last one fills nothing and takes nothing away.
    func filled(at now: RecordLogInstant) -> Int64 {
        guard let scale else { return 0 }
        let elapsed = max(0, now.milliseconds.clampedDifference(at.milliseconds))
        return min(scale.capacity, parts.clampedSum(elapsed.clampedProduct(scale.partsPerMillisecond)))
    }
}

/// What a bucket holds at most and how fast it fills, possibly only a share of that.
package struct BucketLimit: Hashable, Sendable {
    package var burst: Int64
    package var refill: Rate
    package var share: Share

    package init(burst: Int64, refill: Rate, share: Share = .whole) {
        self.burst = burst
        self.refill = refill
        self.share = share
    }

    package static let unlimited = BucketLimit(burst: 0, refill: .unlimited)

    /// Either number being zero takes the limit away.
    package var isUnlimited: Bool { burst <= 0 || refill.isUnlimited }
}

/// Whom a share of a limit is kept for.
package enum BucketRole: UInt8, CaseIterable, Hashable, Sendable {
    /// What is nobody's in particular; everyone may draw on it after their own share.
    case common
    case critical
    /// A group that is seen for the first time.
    case novelty
    case summary
}

/// The content of one bucket as it is stored.
package struct BucketRow: Equatable, Sendable {
    /// Which bucket it is: all of a destination, or those of one application.
    package struct Key: Hashable, Sendable {
        /// Nothing for the destination's own buckets.
        package var account: Int64?
        package var role: BucketRole

        package init(account: Int64?, role: BucketRole) {
            self.account = account
            self.role = role
        }
    }

    /// What one user has taken and has not been refilled yet.
    package struct Use: Equatable, Sendable {
        package var user: UInt32
        package var tokens: Double

        package init(user: UInt32, tokens: Double) {
            self.user = user
            self.tokens = tokens
        }
    }

    package var key: Key
    /// In tokens.
    package var level: Double
    package var at: RecordLogInstant
    /// Of a bucket that users share.
    package var uses: [Use]

    package init(key: Key, level: Double, at: RecordLogInstant, uses: [Use] = []) {
        self.key = key
        self.level = level
        self.at = at
        self.uses = uses
    }
}

/// One limit cut into shares: each reserve is a bucket of its own, the rest is the common one.
///
/// Noise can drain the common bucket and never a reserve; who has a reserve
/// draws on it first and on the common bucket after that. The shares add up
/// to the limit, so the limit as a whole holds whoever draws.
struct SharedLimit: Equatable, Sendable {
    private var common: FairBucket
    private var reserves: [BucketRole: FairBucket]

    init(
        _ limit: BucketLimit, reserves shares: [BucketRole: Share], levels: [BucketRole: BucketRow],
        at: RecordLogInstant
    ) {
        func bucket(_ role: BucketRole, _ share: Share) -> FairBucket {
            let part = BucketLimit(burst: limit.burst, refill: limit.refill, share: share)
            let row = levels[role]
            return FairBucket(part, level: row?.level, uses: row?.uses ?? [], at: row?.at ?? at)
        }
        let reserved = shares.filter { $0.value > .nothing }
        let rest = 100 - reserved.values.reduce(0) { $0 + $1.percent }
        common = bucket(.common, Share(percent: max(1, rest)))
        self.reserves = Dictionary(uniqueKeysWithValues: reserved.map { ($0.key, bucket($0.key, $0.value)) })
    }

    /// Which of the claimant's buckets has a token, in the order of the claims.
    ///
    /// - Parameter user: The user for whom the buckets are shared with others; nil where they have them alone.
    func source(for claims: [BucketRole], of user: UInt32? = nil, at now: RecordLogInstant) -> BucketRole? {
        claims.first { self[$0]?.has(for: user, at: now) ?? false }
    }

    /// Takes a token that `source` found to be there.
    mutating func take(from role: BucketRole, of user: UInt32? = nil, at now: RecordLogInstant) {
        if role == .common { common.take(for: user, at: now) } else { reserves[role]?.take(for: user, at: now) }
    }

    subscript(role: BucketRole) -> FairBucket? {
        get { role == .common ? common : reserves[role] }
        set {
            if let newValue, role == .common { common = newValue } else { reserves[role] = newValue }
        }
    }

    /// What there is to store of the buckets with these roles.
    func rows(account: Int64?, roles: Set<BucketRole>) -> [BucketRow] {
        BucketRole.allCases.filter(roles.contains).compactMap { role in
            guard let bucket = self[role], let level = bucket.tokens.level else { return nil }
            return BucketRow(
                key: .init(account: account, role: role), level: level, at: bucket.tokens.at, uses: bucket.uses)
        }
    }

    /// The same content under another limit.
    func under(_ limit: BucketLimit, reserves: [BucketRole: Share], at now: RecordLogInstant) -> SharedLimit {
        let rows = self.rows(account: nil, roles: Set(BucketRole.allCases))
        let levels = Dictionary(uniqueKeysWithValues: rows.map { ($0.key.role, $0) })
        return SharedLimit(limit, reserves: reserves, levels: levels, at: now)
    }
}

/// A part of a whole in per cent, from nothing to all of it.
package struct Share: Hashable, Comparable, Sendable {
    package let percent: Int64

    package init(percent: Int64) {
        self.percent = min(max(percent, 0), 100)
    }

    package static let whole = Share(percent: 100)
    package static let nothing = Share(percent: 0)

    package static func < (left: Self, right: Self) -> Bool {
        left.percent < right.percent
    }
}

/// So many in so long, as `60/min` or `1/5min`; a count of nothing means without limit.
package struct Rate: Hashable, Sendable {
    package var count: Int64
    package var period: Duration

    package init(_ count: Int64, per period: Duration) {
        self.count = count
        self.period = period
    }

    package static let unlimited = Rate(0, per: .seconds(1))

    package var isUnlimited: Bool { count <= 0 || period <= .zero }
}

/// What is stored of one group for one destination.
package struct GroupRow: Equatable, Sendable {
    package var group: Int64
    package var account: Int64
    /// The newest record judged; the groups with the newest ones are those that are loaded again at a start.
    package var lastRecord: Int64
    /// How often it has occurred, as the walk has seen it.
    package var occurrences: Int64
    /// Records held back since the last that went.
    package var suppressedBefore: Int64
    /// The number of the last summary, for each reason.
    package var sequences: [SuppressionReason: Int64]
    /// In tokens; nothing where groups have no limit.
    package var level: Double?
    package var at: RecordLogInstant

    package init(
        group: Int64, account: Int64, lastRecord: Int64, occurrences: Int64, suppressedBefore: Int64,
        sequences: [SuppressionReason: Int64], level: Double?, at: RecordLogInstant
    ) {
        self.group = group
        self.account = account
        self.lastRecord = lastRecord
        self.occurrences = occurrences
        self.suppressedBefore = suppressedBefore
        self.sequences = sequences
        self.level = level
        self.at = at
    }
}

/// A bounded dictionary that gives up what has not been used for longest.
///
/// Every table that outside traffic can fill is one of these, so that no
/// sender decides how much memory the daemon takes.
struct RecencyTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var key: Key
        var value: Value
        var older: Int?
        var newer: Int?
    }

    let capacity: Int
    private var entries: [Entry] = []
    private var places: [Key: Int] = [:]
    private var oldest: Int?
    private var newest: Int?

    init(capacity: Int) {
        precondition(capacity > 0, "A table that can hold nothing gives up each entry before it is used")
        self.capacity = capacity
    }

    var count: Int { entries.count }
    /// All entries, in no particular order.
    var all: some Sequence<(key: Key, value: Value)> { entries.lazy.map { ($0.key, $0.value) } }

    func contains(_ key: Key) -> Bool { places[key] != nil }

    /// The value, without counting as a use.
    func peek(_ key: Key) -> Value? { places[key].map { entries[$0].value } }

    /// Changes a value in place, which counts as a use; nothing happens where there is none.
    mutating func update<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
        guard let place = places[key] else { return nil }
        touch(place)
        return body(&entries[place].value)
    }

    /// Changes a value in place, which does not count as a use; nothing happens where there is none.
    mutating func alter<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
        guard let place = places[key] else { return nil }
        return body(&entries[place].value)
    }

    /// Changes every value, which does not count as a use.
    mutating func updateAll(_ body: (Key, inout Value) -> Void) {
        for place in entries.indices { body(entries[place].key, &entries[place].value) }
    }

    /// Puts a value in, and says what had to go for it.
    mutating func insert(_ value: Value, for key: Key) -> (key: Key, value: Value)? {
        if let place = places[key] {
            entries[place].value = value
            touch(place)
            return nil
        }
        guard entries.count >= capacity, let place = oldest else {
            entries.append(Entry(key: key, value: value))
            places[key] = entries.count - 1
            append(entries.count - 1)
            return nil
        }
        let gone = entries[place]
        unlink(place)
        places[gone.key] = nil
        entries[place] = Entry(key: key, value: value)
        places[key] = place
        append(place)
        return (gone.key, gone.value)
    }

    private mutating func touch(_ place: Int) {
        guard newest != place else { return }
        unlink(place)
        append(place)
    }

    private mutating func unlink(_ place: Int) {
        let (older, newer) = (entries[place].older, entries[place].newer)
        if let older { entries[older].newer = newer } else { oldest = newer }
        if let newer { entries[newer].older = older } else { newest = older }
        entries[place].older = nil
        entries[place].newer = nil
    }

    private mutating func append(_ place: Int) {
        entries[place].older = newest
        entries[place].newer = nil
        if let newest { entries[newest].newer = place } else { oldest = place }
        newest = place
    }
}
