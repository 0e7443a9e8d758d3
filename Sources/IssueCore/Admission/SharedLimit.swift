import IssueProtocol

/// One limit that is divided into buckets: one for each reserve, and a common one for the rest.
///
/// Records without a reserve can empty only the common bucket. A record with a reserve takes its token from the reserve
/// or, if that is empty, from the common bucket. The shares add up to the limit. A very small limit may be exceeded,
/// because each bucket holds at least one token.
struct SharedLimit: Equatable, Sendable {
    private var common: FairBucket
    private var reserves: [BucketRole: FairBucket]

    init(
        _ limit: BucketLimit, reserves shares: [BucketRole: Percentage], levels: [BucketRole: BucketRow],
        at: RecordLogInstant
    ) {
        func bucket(_ role: BucketRole, _ share: Percentage) -> FairBucket {
            let part = BucketLimit(burst: limit.burst, refill: limit.refill, share: share)
            let row = levels[role]
            return FairBucket(
                part, level: row?.level, maxLevel: row?.maxLevel, uses: row?.uses ?? [], at: row?.at ?? at)
        }
        let reserved = shares.filter { $0.value > .nothing }
        common = bucket(.common, Admission.common(of: limit, reserves: shares).share)
        self.reserves = Dictionary(uniqueKeysWithValues: reserved.map { ($0.key, bucket($0.key, $0.value)) })
    }

    /// Returns the first role in `claims` whose bucket has a token for the user; nil if none has.
    ///
    /// - Parameters:
    ///   - claims: The roles whose buckets may be used, in order of preference.
    ///   - user: The user, if the bucket is shared between users; otherwise nil.
    ///   - now: The log time.
    func source(for claims: [BucketRole], of user: UInt32? = nil, at now: RecordLogInstant) -> BucketRole? {
        claims.first { self[$0]?.has(for: user, at: now) ?? false }
    }

    /// Takes a token from a bucket. `source` must have returned its role.
    mutating func take(from role: BucketRole, of user: UInt32? = nil, at now: RecordLogInstant) {
        if role == .common { common.take(for: user, at: now) } else { reserves[role]?.take(for: user, at: now) }
    }

    subscript(role: BucketRole) -> FairBucket? {
        get { role == .common ? common : reserves[role] }
        set {
            if let newValue, role == .common { common = newValue } else { reserves[role] = newValue }
        }
    }

    /// Returns the rows to store for the buckets with these roles.
    func rows(account: AccountID?, roles: Set<BucketRole>) -> [BucketRow] {
        BucketRole.allCases.filter(roles.contains).compactMap { role in
            guard let bucket = self[role], let level = bucket.tokens.level else { return nil }
            return BucketRow(
                key: .init(account: account, role: role), level: level, maxLevel: bucket.tokens.maxLevel,
                at: bucket.tokens.at, uses: bucket.uses)
        }
    }
}

/// The purpose of a bucket.
package enum BucketRole: UInt8, CaseIterable, Hashable, Sendable {
    /// For all records. A record with a reserve takes from this bucket if the reserve is empty.
    case common
    case critical
    /// For the first record of a group and for a regression.
    case novelty
    case summary
}

/// A token bucket that many users share and that no user can empty for the others.
///
/// It records the outstanding tokens of each user: tokens that were taken and have not been refilled since. A refill is
/// credited to all users with outstanding tokens in equal parts. A fifth of the bucket is reserved for users without
/// outstanding tokens, and another fifth for system users. If a token is left that is not reserved for others, a user
/// may take it in any of these cases:
///
/// - They have nothing outstanding.
/// - They are a system user, and system users together stay within their reserve.
/// - Their outstanding tokens are at most twice the unreserved tokens that would be left. A single user therefore gets
///   two thirds of the unreserved tokens at once and the whole refill afterwards, and many users get equal parts.
///
/// The outstanding tokens of system users count against their reserve.
///
/// As in `TokenBucket`, the state changes only when a token is taken. Queries change nothing.
package struct FairBucket: Equatable, Sendable {
    private struct Share: Equatable, Sendable {
        var user: UInt32
        /// The outstanding tokens, in parts (`TokenBucket.Scale`).
        var parts: Int64
    }

    /// The maximum number of users remembered. Beyond it, the user with the fewest outstanding tokens is forgotten.
    package static let maxUsers = 256
    private static let maxMultipleOfAvailable: Int64 = 2

    package private(set) var tokens: TokenBucket
    /// The users with outstanding tokens, in ascending order of `parts`, as of the time `tokens.at`.
    private var shares: [Share] = []
    /// The sum of `parts` of the system users.
    private var systemParts: Int64 = 0

    /// - Parameters:
    ///   - limit: The burst and the refill rate.
    ///   - level: The level in tokens; nil for a full bucket.
    ///   - maxLevel: The capacity when the level was stored; see `TokenBucket`.
    ///   - uses: The stored outstanding tokens of each user.
    ///   - at: The log time of the level.
    package init(
        _ limit: BucketLimit, level: Double? = nil, maxLevel: Double? = nil, uses: [BucketRow.Use] = [],
        at: RecordLogInstant
    ) {
        tokens = TokenBucket(limit, level: level, maxLevel: maxLevel, at: at)
        guard let scale = tokens.scale, !uses.isEmpty else { return }
        for use in uses where use.tokens.isFinite && use.tokens > 0 {
            let parts = min(use.tokens * Double(scale.partsPerToken), Double(scale.capacity))
            set(Share(user: use.user, parts: Int64(parts + 0.5)))
        }
        order()
    }

    /// The outstanding tokens of each user as of `tokens.at`, to be stored.
    package var uses: [BucketRow.Use] {
        guard let scale = tokens.scale else { return [] }
        return shares.map {
            BucketRow.Use(user: $0.user, tokens: Double($0.parts) / Double(scale.partsPerToken))
        }
    }

    /// Returns the tokens that each user has outstanding, rounded up.
    package func outstanding(at now: RecordLogInstant) -> [UInt32: Int64] {
        guard let scale = tokens.scale else { return [:] }
        let credit = credit(at: now)
        return Dictionary(
            uniqueKeysWithValues: shares.filter { $0.parts > credit }.map {
                ($0.user, ($0.parts - credit + scale.partsPerToken - 1) / scale.partsPerToken)
            })
    }

    /// Returns `true` if the user may take a token.
    ///
    /// - Parameter user: The user; nil if the bucket is not shared or the token is for no particular user.
    package func has(for user: UInt32?, at now: RecordLogInstant) -> Bool {
        guard let user, let scale = tokens.scale else { return tokens.has(at: now) }
        let reserved = SystemUsers.contains(user) ? 0 : max(0, systemReserve(scale) - systemParts)
        let available = tokens.filled(at: now) - reserved - scale.partsPerToken
        guard available >= 0 else { return false }
        if SystemUsers.contains(user), systemParts + scale.partsPerToken <= systemReserve(scale) { return true }
        let own = outstanding(of: user, at: now)
        return own == 0 || own <= (available - newcomerReserve(scale)).clampedProduct(Self.maxMultipleOfAvailable)
    }

    /// Takes a token. `has` must have returned `true` for the same user and time.
    package mutating func take(for user: UInt32?, at now: RecordLogInstant) {
        settle(at: now)
        tokens.take(at: now)
        guard let user, let scale = tokens.scale else { return }
        let known = shares.first { $0.user == user }?.parts ?? 0
        set(Share(user: user, parts: known + scale.partsPerToken))
        order()
    }

    /// Takes as many tokens as are available, up to `count`, for no particular user.
    package mutating func takeAvailable(upTo count: Int64, at now: RecordLogInstant) {
        settle(at: now)
        tokens.takeAvailable(upTo: count, at: now)
    }

    /// Returns the earliest time at which the user may take a token if no other user takes one before.
    package func whenNext(for user: UInt32?, after now: RecordLogInstant) -> RecordLogInstant {
        guard let user, let scale = tokens.scale else { return tokens.whenNext(after: now) }
        guard !has(for: user, at: now) else { return now }
        let start = max(now, tokens.at)
        let missing = scale.capacity - tokens.filled(at: start)
        // A full bucket has a token for any user. Until it is full, the result of `has` changes at most once, from
        // `false` to `true`, so a binary search finds the time.
        var (no, yes) = (Int64(0), missing / scale.partsPerMillisecond + 1)
        while yes - no > 1 {
            let middle = no + (yes - no) / 2
            if has(for: user, at: start.advanced(by: .milliseconds(middle))) { yes = middle } else { no = middle }
        }
        return start.advanced(by: .milliseconds(yes))
    }

    // MARK: Reserves

    private func systemReserve(_ scale: TokenBucket.Scale) -> Int64 {
        min(scale.capacity / 5, scale.capacity - scale.partsPerToken)
    }

    private func newcomerReserve(_ scale: TokenBucket.Scale) -> Int64 {
        min(scale.capacity / 5, scale.capacity - scale.partsPerToken - systemReserve(scale))
    }

    // MARK: Outstanding tokens

    private func outstanding(of user: UInt32, at now: RecordLogInstant) -> Int64 {
        guard let parts = shares.first(where: { $0.user == user })?.parts else { return 0 }
        return max(0, parts - credit(at: now))
    }

    /// Returns the parts that the refill since `tokens.at` credits to each user with outstanding tokens.
    ///
    /// The refill is divided equally. A user who has nothing outstanding any longer gets no further credit, so the
    /// others get more.
    private func credit(at now: RecordLogInstant) -> Int64 {
        guard let scale = tokens.scale, let maxParts = shares.last?.parts else { return 0 }
        let filled = tokens.filled(at: now)
        guard filled < scale.capacity else { return maxParts }
        var refill = filled - tokens.parts
        var credit: Int64 = 0
        for (index, share) in shares.enumerated() {
            let users = Int64(shares.count - index)
            let cost = (share.parts - credit).clampedProduct(users)
            guard refill >= cost else { return credit + refill / users }
            refill -= cost
            credit = share.parts
        }
        return credit
    }

    /// Credits the refill up to a time at which tokens are about to be taken.
    private mutating func settle(at now: RecordLogInstant) {
        guard !shares.isEmpty else { return }
        let credit = credit(at: now)
        // The shares remain in ascending order.
        shares.removeFirst(shares.prefix { $0.parts <= credit }.count)
        for index in shares.indices { shares[index].parts -= credit }
        systemParts = sumOfSystemUsers
    }

    /// Replaces or adds the share of a user. `order()` must be called afterwards.
    private mutating func set(_ share: Share) {
        if let index = shares.firstIndex(where: { $0.user == share.user }) {
            shares[index] = share
            return
        }
        if shares.count == Self.maxUsers { shares.removeFirst() }
        shares.append(share)
    }

    private mutating func order() {
        shares.sort { ($0.parts, $0.user) < ($1.parts, $1.user) }
        systemParts = sumOfSystemUsers
    }

    private var sumOfSystemUsers: Int64 {
        shares.reduce(0) { $0 + (SystemUsers.contains($1.user) ? $1.parts : 0) }
    }
}

/// The stored state of one bucket.
package struct BucketRow: Equatable, Sendable {
    /// The identity of a bucket of the destination or of an application.
    package struct Key: Hashable, Sendable {
        /// The account id; nil for the destination's own buckets.
        package var account: AccountID?
        package var role: BucketRole

        package init(account: AccountID?, role: BucketRole) {
            self.account = account
            self.role = role
        }
    }

    /// The tokens that one user has taken and that have not been refilled since.
    package struct Use: Equatable, Sendable {
        package var user: UInt32
        package var tokens: Double

        package init(user: UInt32, tokens: Double) {
            self.user = user
            self.tokens = tokens
        }
    }

    package var key: Key
    /// The level, in tokens.
    package var level: Double
    /// The capacity, in tokens; nil if it was not stored.
    package var maxLevel: Double?
    package var at: RecordLogInstant
    /// The use by each user, for a bucket that users share.
    package var uses: [Use]

    package init(key: Key, level: Double, maxLevel: Double? = nil, at: RecordLogInstant, uses: [Use] = []) {
        self.key = key
        self.level = level
        self.maxLevel = maxLevel
        self.at = at
        self.uses = uses
    }
}

/// The users that share the system reserve: root and the static system users.
enum SystemUsers {
    /// Source: <https://systemd.io/UIDS-GIDS>.
    private static let range: Range<UInt32> = 0..<1000

    static func contains(_ user: UInt32) -> Bool { range.contains(user) }
}
