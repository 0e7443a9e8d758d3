/// Paces what leaves by the real clock, in records: after an outage the backlog goes at this rate and no faster.
///
/// It counts records and not requests, since what a service calls spam is
/// records, and one request may hold a single one or five hundred. What is
/// sent again counts again. What is old has a bucket of its own besides, with
/// its share of rate and burst. The rate is halved when the destination asks
/// for less, down to a tenth, and comes back by a twentieth of the whole for
/// each minute without such an answer.
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
        /// The same of what is old.
        package var backlog: Double

        package init(factor: Double, level: Double, backlog: Double) {
            self.factor = factor
            self.level = level
            self.backlog = backlog
        }
    }

    private static let leastFactor = 0.1
    private static let recoveryPerMinute = 0.05
    /// What comes in within so long may go at once.
    private static let burst: Duration = .seconds(5)

    /// In milliseconds: a rate of next to nothing is looked at again each day.
    private static let longestWait = 86_400_000.0

    private let rate: Rate
    private let capacity: Double
    private let share: Double
    /// The most that may be owed.
    private let deepest: Double
    /// How much of the rate is used at present, from a tenth to all of it.
    package private(set) var factor = 1.0
    private var level: Double
    private var backlog: Double
    private var at: MonotonicInstant
    private var adaptedAt: MonotonicInstant

    package init(settings: ForwardSettings, at now: MonotonicInstant) {
        rate = settings.sendRate
        let burst = rate.isUnlimited ? 0 : Double(rate.count) * (Self.burst / rate.period)
        capacity = min(max(1, burst.rounded(.down)), Double(max(1, settings.batchRecords)))
        share = Double(max(1, settings.backlogShare.percent)) / 100
        deepest = Double(max(1, settings.batchRecords))
        level = capacity
        backlog = max(1, capacity * share)
        at = now
        adaptedAt = now
    }

    /// Goes on from what was stored, so long ago.
    package init(settings: ForwardSettings, from saved: Saved, after elapsed: Duration, at now: MonotonicInstant) {
        self.init(settings: settings, at: now)
        guard saved.factor.isFinite, saved.level.isFinite, saved.backlog.isFinite else { return }
        factor = min(max(saved.factor, Self.leastFactor), 1)
        level = min(max(saved.level, -deepest), capacity)
        backlog = min(max(saved.backlog, -deepest), backlogCapacity)
        at = now.advanced(by: .zero - max(.zero, elapsed))
        adaptedAt = now
        settle(at: now)
    }

    /// What there is to store.
    package func saved(at now: MonotonicInstant) -> Saved {
        Saved(factor: factor, level: filled(at: now), backlog: filledBacklog(at: now))
    }

    /// Whether so many records may go, or when.
    package func pace(of wanted: Int, isBacklog: Bool = false, at now: MonotonicInstant) -> Pace {
        guard !rate.isUnlimited else { return .now(wanted) }
        let portion = min(Double(max(1, wanted)), (isBacklog ? backlogCapacity : capacity).rounded(.down))
        var seconds = (portion - filled(at: now)) / perSecond
        if isBacklog { seconds = max(seconds, (portion - filledBacklog(at: now)) / (perSecond * share)) }
        // A billionth of a second is the inexactness of the sum.
        guard seconds > 1e-9 else { return .now(Int(portion)) }
        return .wait(until: now.advanced(by: .milliseconds(Int64(min(seconds * 1000, Self.longestWait)) + 1)))
    }

    /// So many records were sent; a batch that is sent again may take more than there is, and what follows waits for it.
    package mutating func sent(_ count: Int, isBacklog: Bool = false, at now: MonotonicInstant) {
        guard !rate.isUnlimited else { return }
        settle(at: now)
        level = max(-deepest, level - Double(count))
        if isBacklog { backlog = max(-deepest, backlog - Double(count)) }
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

    /// One record at least, or nothing old would ever go.
    private var backlogCapacity: Double { max(1, capacity * share) }

    private mutating func settle(at now: MonotonicInstant) {
        guard !rate.isUnlimited else { return }
        (level, backlog) = (filled(at: now), filledBacklog(at: now))
        at = max(at, now)
    }

    private func filled(at now: MonotonicInstant) -> Double {
        min(capacity, level + seconds(until: now) * perSecond)
    }

    private func filledBacklog(at now: MonotonicInstant) -> Double {
        min(backlogCapacity, backlog + seconds(until: now) * perSecond * share)
    }

    private func seconds(until now: MonotonicInstant) -> Double { max(.zero, at.duration(to: now)) / .seconds(1) }
}
