/// One limit cut into shares: each reserve is a bucket of its own, the rest is the common one.
///
/// Noise can drain the common bucket and never a reserve; who has a reserve
/// draws on it first and on the common bucket after that. The shares add up
/// to the limit, so the limit as a whole holds whoever draws.
struct SharedLimit: Equatable, Sendable {
    private var common: FairBucket
    private var reserves: [BucketRole: FairBucket]

    init(_ limit: BucketLimit, reserves shares: [BucketRole: Share], levels: [BucketRole: BucketRow], at: LogInstant) {
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
    func source(for claims: [BucketRole], of user: UInt32? = nil, at now: LogInstant) -> BucketRole? {
        claims.first { self[$0]?.has(for: user, at: now) ?? false }
    }

    /// Takes a token that `source` found to be there.
    mutating func take(from role: BucketRole, of user: UInt32? = nil, at now: LogInstant) {
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
    func under(_ limit: BucketLimit, reserves: [BucketRole: Share], at now: LogInstant) -> SharedLimit {
        let rows = self.rows(account: nil, roles: Set(BucketRole.allCases))
        let levels = Dictionary(uniqueKeysWithValues: rows.map { ($0.key.role, $0) })
        return SharedLimit(limit, reserves: reserves, levels: levels, at: now)
    }
}
