/// One limit cut into shares: each reserve is a bucket of its own, the rest is the common one.
///
/// Noise can drain the common bucket and never a reserve; who has a reserve
/// draws on it first and on the common bucket after that. The shares add up
/// to the limit, so the limit as a whole holds whoever draws.
struct SharedLimit: Equatable, Sendable {
    private var common: TokenBucket
    private var reserves: [BucketRole: TokenBucket]

    init(_ limit: BucketLimit, reserves shares: [BucketRole: Share], levels: [BucketRole: BucketRow], at: LogInstant) {
        func bucket(_ role: BucketRole, _ share: Share) -> TokenBucket {
            let part = BucketLimit(burst: limit.burst, refill: limit.refill, share: share)
            return TokenBucket(part, level: levels[role]?.level, at: levels[role]?.at ?? at)
        }
        let reserved = shares.filter { $0.value > .nothing }
        let rest = 100 - reserved.values.reduce(0) { $0 + $1.percent }
        common = bucket(.common, Share(percent: max(1, rest)))
        self.reserves = Dictionary(uniqueKeysWithValues: reserved.map { ($0.key, bucket($0.key, $0.value)) })
    }

    /// Which of the claimant's buckets has a token, in the order of the claims.
    func source(for claims: [BucketRole], at now: LogInstant) -> BucketRole? {
        claims.first { self[$0]?.has(at: now) ?? false }
    }

    subscript(role: BucketRole) -> TokenBucket? {
        get { role == .common ? common : reserves[role] }
        set {
            if let newValue, role == .common { common = newValue } else { reserves[role] = newValue }
        }
    }

    /// What there is to store of the buckets with these roles.
    func rows(account: Int64?, roles: Set<BucketRole>) -> [BucketRow] {
        BucketRole.allCases.filter(roles.contains).compactMap { role in
            guard let bucket = self[role], let level = bucket.level else { return nil }
            return BucketRow(key: .init(account: account, role: role), level: level, at: bucket.at)
        }
    }

    /// The same content under another limit.
    func under(_ limit: BucketLimit, reserves: [BucketRole: Share], at now: LogInstant) -> SharedLimit {
        let rows = self.rows(account: nil, roles: Set(BucketRole.allCases))
        let levels = Dictionary(uniqueKeysWithValues: rows.map { ($0.key.role, $0) })
        return SharedLimit(limit, reserves: reserves, levels: levels, at: now)
    }
}
