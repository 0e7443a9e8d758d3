/// Paces what leaves by the real clock, in records: after an outage the backlog goes at this rate and no faster.
///
/// It counts records and not requests, since what a service calls spam is
/// records, and one request may hold a single one or five hundred. What is
/// sent again counts again. The rate is halved when the destination asks for
/// less, down to a tenth, and comes back by a twentieth of the whole for each
/// minute without such an answer.
package struct SendPacer: Equatable, Sendable {
    package enum Pace: Equatable, Sendable {
        /// So many records may go now.
        case now(Int)
        case wait(until: MonotonicInstant)
    }

    /// What is stored of it, so that a restart gives nobody a fresh burst.
    package struct Saved: Equatable, Sendable {
        package var factor: Double
        /// In records; below nothing where more was sent than there was.
        package var level: Double

        package init(factor: Double, level: Double) {
            self.factor = factor
            self.level = level
        }
    }

    private static let leastFactor = 0.1
    private static let recoveryPerMinute = 0.05

    /// In milliseconds: a rate of next to nothing is looked at again each day.
    private static let longestWait = 86_400_000.0

    private let rate: Rate
    private let capacity: Double
    private let backlogShare: Share
    /// How much of the rate is used at present, from a tenth to all of it.
    package private(set) var factor = 1.0
    private var level: Double
    private var at: MonotonicInstant
    private var adaptedAt: MonotonicInstant

    package init(settings: ForwardSettings, at now: MonotonicInstant) {
        rate = settings.sendRate
        capacity = Double(max(1, settings.batchRecords))
        backlogShare = settings.backlogShare
        level = capacity
        at = now
        adaptedAt = now
    }

    /// Goes on from what was stored, so long ago.
    package init(settings: ForwardSettings, from saved: Saved, after elapsed: Duration, at now: MonotonicInstant) {
        self.init(settings: settings, at: now)
        guard saved.factor.isFinite, saved.level.isFinite else { return }
        factor = min(max(saved.factor, Self.leastFactor), 1)
        level = min(max(saved.level, -capacity), capacity)
        at = now.advanced(by: .zero - max(.zero, elapsed))
        adaptedAt = now
        settle(at: now)
    }

    /// What there is to store.
    package func saved(at now: MonotonicInstant) -> Saved {
        Saved(factor: factor, level: filled(at: now))
    }

    /// Whether so many records may go, or when.
    ///
    /// - Parameter isBacklog: What is old leaves a part of the burst to what is fresh.
    package func pace(of wanted: Int, isBacklog: Bool = false, at now: MonotonicInstant) -> Pace {
        guard !rate.isUnlimited else { return .now(wanted) }
        let kept = isBacklog ? min(capacity - 1, capacity * Double(100 - backlogShare.percent) / 100) : 0
        let portion = min(Double(max(1, wanted)), capacity - kept)
        let missing = portion + kept - filled(at: now)
        // A billionth of a record is the inexactness of the sum, not a record.
        guard missing > 1e-9 else { return .now(Int(portion)) }
        let milliseconds = min(missing / perSecond * 1000, Self.longestWait)
        return .wait(until: now.advanced(by: .milliseconds(Int64(milliseconds) + 1)))
    }

    /// So many records were sent; a batch that is sent again may take more than there is, and what follows waits for it.
    package mutating func sent(_ count: Int, at now: MonotonicInstant) {
        guard !rate.isUnlimited else { return }
        level = max(-capacity, filled(at: now) - Double(count))
        at = max(at, now)
    }

    /// The destination asked for less.
    package mutating func slowedDown(at now: MonotonicInstant) {
        settle(at: now)
        factor = max(Self.leastFactor, factor / 2)
        adaptedAt = now
    }

    /// The destination took what it was sent.
    package mutating func succeeded(at now: MonotonicInstant) {
        settle(at: now)
        guard factor < 1 else { return adaptedAt = now }
        let minutes = max(.zero, adaptedAt.duration(to: now)) / .seconds(60)
        factor = min(1, factor + minutes * Self.recoveryPerMinute)
        adaptedAt = now
    }

    private var perSecond: Double { Double(rate.count) / (rate.period / .seconds(1)) * factor }

    private mutating func settle(at now: MonotonicInstant) {
        guard !rate.isUnlimited else { return }
        level = filled(at: now)
        at = max(at, now)
    }

    private func filled(at now: MonotonicInstant) -> Double {
        let elapsed = max(.zero, at.duration(to: now)) / .seconds(1)
        return min(capacity, level + elapsed * perSecond)
    }
}
