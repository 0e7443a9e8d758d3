import IssueProtocol

/// A bucket of tokens that fills with log time; each record let through takes one.
///
/// It counts in whole parts of a token, so that a hundred small refills add
/// up to one large one and a bucket that was stored and restored goes on as
/// if nothing had been.
package struct TokenBucket: Equatable, Sendable {
    /// The largest content in parts: up to here a level survives being stored as a floating point number.
    private static let mostParts: Int64 = 1 << 51

    /// Nothing where the bucket has no limit.
    struct Scale: Equatable {
        var capacity: Int64
        var partsPerToken: Int64
        var partsPerMillisecond: Int64

        /// - Note: A share of a small burst may come to less than a token; it still holds one, or it would be no share.
        init?(_ limit: BucketLimit) {
            guard !limit.isUnlimited, limit.share > .nothing else { return nil }
            partsPerToken = max(1, min(limit.refill.period.wholeMilliseconds, mostParts / 200)) * 100
            partsPerMillisecond = limit.refill.count.clampedProduct(limit.share.percent)
            let wanted = limit.burst.clampedProduct(limit.share.percent).clampedProduct(partsPerToken / 100)
            capacity = min(max(wanted, partsPerToken), mostParts)
        }
    }

    private(set) var scale: Scale?
    private(set) var parts: Int64
    /// Up to when it has been filled.
    package private(set) var at: LogInstant

    /// - Parameter level: What it holds, in tokens; full where nothing is said.
    package init(_ limit: BucketLimit, level: Double? = nil, at: LogInstant) {
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
    package func tokens(at now: LogInstant) -> Int64 {
        guard let scale else { return .max }
        return max(0, filled(at: now) / scale.partsPerToken)
    }

    package func has(_ count: Int64 = 1, at now: LogInstant) -> Bool {
        guard let scale else { return true }
        return filled(at: now) >= count.clampedProduct(scale.partsPerToken)
    }

    /// When there will be a token.
    package func whenNext(after now: LogInstant) -> LogInstant {
        guard let scale else { return now }
        let missing = scale.partsPerToken - filled(at: now)
        guard missing > 0 else { return now }
        let wait = missing.clampedSum(scale.partsPerMillisecond - 1) / scale.partsPerMillisecond
        return max(now, at).advanced(by: .milliseconds(wait))
    }

    /// Takes tokens that `has` found to be there.
    package mutating func take(_ count: Int64 = 1, at now: LogInstant) {
        guard let scale else { return }
        parts = filled(at: now) - count.clampedProduct(scale.partsPerToken)
        at = max(at, now)
        precondition(parts >= 0, "A token was taken from a bucket that was not asked whether it has one")
    }

    /// Takes what is there, up to a count.
    package mutating func takeUp(to count: Int64, at now: LogInstant) {
        take(min(count, tokens(at: now)), at: now)
    }

    /// The bucket under another limit, keeping what it holds.
    package func under(_ limit: BucketLimit) -> TokenBucket {
        TokenBucket(limit, level: level, at: at)
    }

    /// - Note: A moment before the last one fills nothing and takes nothing away.
    func filled(at now: LogInstant) -> Int64 {
        guard let scale else { return 0 }
        let elapsed = max(0, now.milliseconds.clampedDifference(at.milliseconds))
        return min(scale.capacity, parts.clampedSum(elapsed.clampedProduct(scale.partsPerMillisecond)))
    }
}
