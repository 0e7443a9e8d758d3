package import IssueProtocol

/// Sums and maxima over the last 24 hours, in slots of one hour.
package struct HourlyDemand: Equatable, Sendable {
    private struct Hour: Equatable, Sendable {
        /// Hours since the origin of the clock.
        var number: Int64
        var held: Int64 = 0
        var excess: Int64 = 0
        var peak: Int64 = 0
    }

    /// The number of slots. The newest one is the current hour, so they cover 23 to 24 hours.
    private static let hours: Int64 = 24
    private static let hour: Int64 = 3_600_000

    /// In ascending order.
    private var slots: [Hour] = []

    package init() {}

    /// Adds to the slot of a time. A time before the newest slot counts in the newest one.
    ///
    /// - Parameters:
    ///   - held: The number of records that were held back. The slot keeps the sum.
    ///   - excess: The amount by which the demand was above the refill, in parts of a token. The slot keeps the
    ///     maximum.
    ///   - peak: The demand in a period that the caller chooses, such as a period of the refill. The slot keeps the
    ///     maximum.
    ///   - now: The log time.
    package mutating func add(held: Int64 = 0, excess: Int64 = 0, peak: Int64 = 0, at now: RecordLogInstant) {
        let number = Self.number(of: now)
        if slots.last.map({ $0.number < number }) ?? true {
            slots.append(Hour(number: number))
            slots.removeAll { $0.number <= number - Self.hours }
        }
        let last = slots.count - 1
        slots[last].held = slots[last].held.clampedSum(held)
        slots[last].excess = max(slots[last].excess, excess)
        slots[last].peak = max(slots[last].peak, peak)
    }

    /// Returns the number of records held back in the current hour and the 23 hours before it.
    package func held(at now: RecordLogInstant) -> Int64 {
        recent(now).reduce(0) { $0.clampedSum($1.held) }
    }

    /// Returns the largest excess in the current hour and the 23 hours before it.
    package func excess(at now: RecordLogInstant) -> Int64 { recent(now).map(\.excess).max() ?? 0 }

    /// Returns the largest peak in the current hour and the 23 hours before it.
    package func peak(at now: RecordLogInstant) -> Int64 { recent(now).map(\.peak).max() ?? 0 }

    private func recent(_ now: RecordLogInstant) -> some Sequence<Hour> {
        let first = Self.number(of: now) - Self.hours
        return slots.lazy.filter { $0.number > first }
    }

    private static func number(of now: RecordLogInstant) -> Int64 { now.milliseconds.flooredQuotient(by: hour) }
}

/// Tracks the demand on a token bucket, to compute the limit that would have held nothing back.
///
/// It computes the excess of demand over refill: the excess grows by one token with each record that needs one, and
/// falls with the refill, down to zero. A bucket as large as the highest excess would have had a token for every
/// record. The computation begins with the first record that the bucket refuses. At this time, the excess is the
/// bucket's capacity minus its level.
package struct BucketDemand: Equatable, Sendable {
    /// Determines how the needed limit is computed from the demanded tokens.
    package enum Use: Equatable, Sendable {
        /// The bucket belongs to a group or an application.
        case single
        /// Users share the bucket (`FairBucket`). A single user gets two fifths of it at once.
        case shared
    }

    /// A period of the refill.
    private struct Window: Equatable {
        /// The number of the period, counted from the origin of the clock.
        var number: Int64
        /// The number of tokens demanded in it.
        var count: Int64
    }

    private let scale: TokenBucket.Scale
    private let limit: BucketLimit
    private let use: Use
    /// The excess as of `at`, in parts.
    private var excess: Int64
    private var at: RecordLogInstant
    /// The current period of the refill.
    private var window: Window
    /// Whether a record was counted after one with a later time. It then counts at that later time, as in the bucket,
    /// so the excess may be too low.
    private var isEstimate = false
    private var hours = HourlyDemand()

    /// Starts from the state of a bucket that refuses a record; nil if the bucket is unlimited.
    ///
    /// - Parameters:
    ///   - bucket: The bucket, before the record.
    ///   - limit: The limit of the bucket. If the bucket is a share of a limit, `needed` returns whole limits.
    ///   - use: `shared` if users share the bucket.
    ///   - now: The time of the record.
    package init?(behind bucket: TokenBucket, _ limit: BucketLimit, _ use: Use = .single, at now: RecordLogInstant) {
        guard let scale = bucket.scale else { return nil }
        (self.scale, self.limit, self.use) = (scale, limit, use)
        at = max(now, bucket.at)
        excess = scale.capacity - bucket.filled(at: at)
        // The missing tokens were taken in this period or in earlier ones. Counting all of them in this period gives an
        // upper bound.
        window = Window(
            number: limit.refill.window(at: at), count: (excess + scale.partsPerToken - 1) / scale.partsPerToken)
    }

    /// Counts records that need a token each.
    ///
    /// - Parameters:
    ///   - count: The number of records.
    ///   - held: The number of them without a token.
    ///   - now: The time of the first of them.
    package mutating func add(_ count: Int64, held: Int64, at now: RecordLogInstant) {
        if now < at { isEstimate = true }
        let elapsed = max(0, now.milliseconds.clampedDifference(at.milliseconds))
        at = max(at, now)
        excess = max(0, excess.clampedDifference(elapsed.clampedProduct(scale.partsPerMillisecond)))
            .clampedSum(count.clampedProduct(scale.partsPerToken))
        let number = limit.refill.window(at: at)
        window = Window(number: number, count: (window.number == number ? window.count : 0).clampedSum(count))
        hours.add(held: held, excess: excess, peak: window.count, at: at)
    }

    /// Returns the number of records held back in the current hour and the 23 hours before it.
    package func held(at now: RecordLogInstant) -> Int64 { hours.held(at: now) }

    /// Returns up to two limits, each of which would have held back nothing in the current hour and the 23 hours before
    /// it; empty if nothing was held back.
    ///
    /// The first one has the current refill. The second one, if there is one, has a larger refill and a smaller burst:
    /// its refill covers the largest demand in a period, and its burst twice that demand.
    package func needed(at now: RecordLogInstant) -> [LimitNeed] {
        guard held(at: now) > 0 else { return [] }
        let maxExcess = hours.excess(at: now)
        let tokens = maxExcess / scale.partsPerToken + (maxExcess % scale.partsPerToken > 0 || isEstimate ? 1 : 0)
        let first = LimitNeed(capacity: neededBurst(tokens), refill: limit.refill.count)
        let peak = hours.peak(at: now)
        let refill = wholeLimit(forShare: peak)
        let second = LimitNeed(capacity: neededBurst(peak.clampedProduct(2)), refill: refill)
        return refill > limit.refill.count && second.capacity < first.capacity ? [first, second] : [first]
    }

    /// Returns the burst that the whole limit needs so that its users can take this many tokens.
    private func neededBurst(_ tokens: Int64) -> Int64 {
        switch use {
        case .single: wholeLimit(forShare: tokens)
        // Three fifths of the bucket are not reserved. A user may take a token while their outstanding tokens are at
        // most twice what is left of these three fifths. If one user takes all `tokens`, the bucket must therefore hold
        // 5/2 of them.
        case .shared: wholeLimit(forShare: tokens.clampedProduct(5).clampedSum(1) / 2)
        }
    }

    /// Returns the whole limit whose share for this bucket is `count`, rounded up.
    private func wholeLimit(forShare count: Int64) -> Int64 {
        count.clampedProduct(100).clampedSum(limit.share.percent - 1) / max(1, limit.share.percent)
    }
}

/// The level of a limit that a record has to pass.
package struct LimitForecast: Equatable, Sendable {
    package var reason: SuppressionReason
    /// The number of records that may pass now.
    package var available: Int64
    package var limit: BucketLimit
    /// The part of the limit that is reserved for other records.
    package var reserved: Int64 = 0
}

extension Admission {
    /// Returns the levels of the limits that a candidate has to pass, without unlimited ones and the daily byte limit.
    /// The group's limit is left out for the first record of a group and for a regression, and the application's limit
    /// if the application is not in memory. Nothing is counted.
    ///
    /// The destination's level is what all users together have left. A single user may get less.
    package func levels(for candidate: AdmissionCandidate, at now: RecordLogInstant) -> [LimitForecast] {
        let limits = limits(of: candidate.account)
        let claims = Self.reserves(for: candidate) + [.common]
        var levels: [LimitForecast] = []
        if !candidate.isFirstOfGroup, !limits.group.isUnlimited {
            let bucket = groups.peek(candidate.group)?.bucket ?? TokenBucket(limits.group, at: now)
            levels.append(LimitForecast(reason: .groupRate, available: bucket.tokens(at: now), limit: limits.group))
        }
        func add(_ reason: SuppressionReason, _ shared: SharedLimit?, _ limit: BucketLimit) {
            guard let shared, !limit.isUnlimited else { return }
            let available = claims.reduce(Int64(0)) { $0.clampedSum(shared[$1]?.tokens.tokens(at: now) ?? 0) }
            let others = BucketRole.allCases.filter { !claims.contains($0) }
            let reserved = others.reduce(Int64(0)) { $0.clampedSum(shared[$1]?.tokens.capacity ?? 0) }
            levels.append(LimitForecast(reason: reason, available: available, limit: limit, reserved: reserved))
        }
        add(.applicationRate, accounts.peek(candidate.account)?.buckets, limits.application)
        add(.globalRate, global, settings.global)
        return levels
    }
}
