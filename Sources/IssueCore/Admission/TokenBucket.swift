import IssueProtocol

/// A bucket of tokens that refills with log time.
///
/// It counts in integer parts of a token. Many small refills therefore add up exactly to one large refill, and storing
/// and restoring a bucket does not change it.
package struct TokenBucket: Equatable, Sendable {
    /// The maximum level in parts. Lower levels remain exact when they are stored as floating-point numbers.
    private static let maxParts: Int64 = 1 << 51

    /// The limit of a bucket, in parts of a token.
    struct Scale: Equatable {
        var capacity: Int64
        var partsPerToken: Int64
        var partsPerMillisecond: Int64

        /// Returns nil if the limit is unlimited or its share is zero. A bucket without a scale is unlimited, so no
        /// bucket must be created for a share of zero.
        ///
        /// A share of a small burst may be less than one token. The bucket then holds one token, because it could not
        /// be used otherwise.
        init?(_ limit: BucketLimit) {
            guard !limit.isUnlimited, limit.share > .nothing else { return nil }
            partsPerToken = max(1, min(limit.refill.period.wholeMilliseconds, maxParts / 200)) * 100
            partsPerMillisecond = limit.refill.count.clampedProduct(limit.share.percent)
            let wanted = limit.burst.clampedProduct(limit.share.percent).clampedProduct(partsPerToken / 100)
            capacity = min(max(wanted, partsPerToken), maxParts)
        }
    }

    /// The limit in parts; nil if the bucket is unlimited.
    private(set) var scale: Scale?
    /// The level at the time `at`, in parts.
    private(set) var parts: Int64
    /// The log time up to which the bucket has been refilled.
    package private(set) var at: RecordLogInstant

    /// - Parameters:
    ///   - limit: The burst and the refill rate.
    ///   - level: The level in tokens; nil for a full bucket.
    ///   - maxLevel: The capacity when the level was stored, in tokens; nil if it is unknown. If the capacity is larger
    ///     now, the difference is added to the level.
    ///   - at: The log time of the level.
    package init(_ limit: BucketLimit, level: Double? = nil, maxLevel: Double? = nil, at: RecordLogInstant) {
        scale = Scale(limit)
        self.at = at
        parts = 0
        guard let scale else { return }
        if let level, level.isFinite {
            let added = maxLevel.map { max(0, Double(scale.capacity) / Double(scale.partsPerToken) - $0) } ?? 0
            // Round to the nearest integer without linking the math library.
            let wanted = min((max(level, 0) + added) * Double(scale.partsPerToken), Double(scale.capacity))
            parts = Int64(wanted + 0.5)
        } else {
            parts = scale.capacity
        }
    }

    package var isUnlimited: Bool { scale == nil }

    /// The level at the time `at`, in tokens; nil if the bucket is unlimited. It is stored with `at`.
    package var level: Double? {
        guard let scale else { return nil }
        return Double(parts) / Double(scale.partsPerToken)
    }

    /// The capacity, in tokens; nil if the bucket is unlimited. It is stored with the level.
    package var maxLevel: Double? {
        guard let scale else { return nil }
        return Double(scale.capacity) / Double(scale.partsPerToken)
    }

    /// Returns the number of whole tokens available at a time; `Int64.max` if the bucket is unlimited.
    package func tokens(at now: RecordLogInstant) -> Int64 {
        guard let scale else { return .max }
        return max(0, filled(at: now) / scale.partsPerToken)
    }

    /// Returns `true` if the bucket holds at least one token.
    package func has(at now: RecordLogInstant) -> Bool {
        guard let scale else { return true }
        return filled(at: now) >= scale.partsPerToken
    }

    /// Returns the earliest time at which a token is available.
    package func whenNext(after now: RecordLogInstant) -> RecordLogInstant {
        guard let scale else { return now }
        let missing = scale.partsPerToken - filled(at: now)
        guard missing > 0 else { return now }
        let wait = missing.clampedSum(scale.partsPerMillisecond - 1) / scale.partsPerMillisecond
        return max(now, at).advanced(by: .milliseconds(wait))
    }

    /// Takes tokens. The bucket must hold at least `count` of them.
    package mutating func take(_ count: Int64 = 1, at now: RecordLogInstant) {
        guard let scale else { return }
        parts = filled(at: now) - count.clampedProduct(scale.partsPerToken)
        at = max(at, now)
        precondition(parts >= 0, "Tokens were taken from a bucket that does not have them")
    }

    /// Takes as many tokens as are available, up to `count`.
    package mutating func takeAvailable(upTo count: Int64, at now: RecordLogInstant) {
        take(min(count, tokens(at: now)), at: now)
    }

    /// Returns the level at a time, in parts; 0 if the bucket is unlimited. A time before `at` counts as `at`.
    func filled(at now: RecordLogInstant) -> Int64 {
        guard let scale else { return 0 }
        let elapsed = max(0, now.milliseconds.clampedDifference(at.milliseconds))
        return min(scale.capacity, parts.clampedSum(elapsed.clampedProduct(scale.partsPerMillisecond)))
    }
}

/// The capacity and the refill rate of a bucket, or a share of them.
package struct BucketLimit: Hashable, Sendable {
    /// The capacity, in tokens.
    package var burst: Int64
    package var refill: Rate
    package var share = Percentage.whole

    /// - Parameters:
    ///   - burst: The capacity, in tokens. Zero means unlimited.
    ///   - refill: The refill rate. A count of zero means unlimited.
    ///   - share: The share of the capacity and of the refill rate.
    package init(burst: Int64, refill: Rate, share: Percentage = .whole) {
        self.burst = burst
        self.refill = refill
        self.share = share
    }

    package static let unlimited = BucketLimit(burst: 0, refill: .unlimited)

    /// Whether the burst or the rate is zero.
    package var isUnlimited: Bool { burst <= 0 || refill.isUnlimited }
}

/// A share in per cent, from 0 to 100. Other values are clamped.
package struct Percentage: Hashable, Comparable, Sendable {
    /// The share, in per cent.
    package let percent: Int64

    package init(percent: Int64) {
        self.percent = min(max(percent, 0), 100)
    }

    package static let whole = Percentage(percent: 100)
    package static let nothing = Percentage(percent: 0)

    package static func < (left: Self, right: Self) -> Bool {
        left.percent < right.percent
    }
}

/// A number of events per period, such as `60/min` or `1/5min`. A count of zero means unlimited.
package struct Rate: Hashable, Sendable {
    package var count: Int64
    package var period: Duration

    package init(_ count: Int64, per period: Duration) {
        self.count = count
        self.period = period
    }

    package static let unlimited = Rate(0, per: .seconds(1))

    package var isUnlimited: Bool { count <= 0 || period <= .zero }

    func times(_ factor: Int64) -> Rate { Rate(count.clampedProduct(factor), per: period) }

    /// The period in milliseconds, at least one.
    var windowLength: Int64 { max(1, period.wholeMilliseconds) }

    /// Returns the number of the period that contains a time, counted from the origin of log time.
    func window(at now: RecordLogInstant) -> Int64 { now.milliseconds.flooredQuotient(by: windowLength) }
}
