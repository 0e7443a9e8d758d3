/// Decides what of the log is forgotten, never of the open range: what has become old goes range by range, the oldest
/// first; where there is too little room, whoever takes most of it gives first.
///
/// Ages are by the log's clock, so a wall clock that is set wrong empties nothing.
package struct Retention: Equatable, Sendable {
    /// Why a range is forgotten.
    package enum Reason: String, Equatable, Sendable {
        case age
        case size
        case freeSpace = "free space"
    }

    package enum Action: Equatable, Sendable {
        case forget(RetentionFacts.ClosedRange, Reason)
        /// What a user has most of in a range goes.
        case thin(RetentionFacts.Holding, Reason)
        /// The open range holds what is so old that it must not wait until it is full.
        case closeRange
        /// Nothing is to be done; look again after so long.
        case rest(Duration)
    }

    /// How often to look, since nobody tells when the disk fills.
    package static let interval: Duration = .seconds(60)

    package var settings: RetentionSettings

    package init(settings: RetentionSettings) {
        self.settings = settings
    }

    /// What is to be done next.
    package func next(_ facts: RetentionFacts) -> Action {
        if let oldest = facts.oldest, let reason = reason(toForget: oldest, facts) {
            // An oldest range in which nobody has anything is only a rest.
            guard reason != .age, facts.holdings.contains(where: { $0.range.id == oldest.id && $0.bytes > 0 }),
                let giver = Fairness.giver(facts.holdings)
            else { return .forget(oldest, reason) }
            return .thin(giver, reason)
        }
        if let since = facts.openSince, since.duration(to: facts.now) >= longestOpen { return .closeRange }
        return .rest(untilNextLook(facts))
    }

    /// Whether the database or the disk holds more than it should.
    package func lacksRoom(_ facts: RetentionFacts) -> Bool {
        facts.usedBytes > settings.maxSize || lacksFreeSpace(facts)
    }

    /// Whether too little is free on the disk, with everything that comes back without removing a record.
    private func lacksFreeSpace(_ facts: RetentionFacts) -> Bool {
        guard let free = facts.freeBytes else { return false }
        return free.clampedSum(facts.spareBytes).clampedSum(facts.excessWALBytes) < settings.keepFree
    }

    private func reason(toForget oldest: RetentionFacts.ClosedRange, _ facts: RetentionFacts) -> Reason? {
        if facts.usedBytes > settings.maxSize { return .size }
        if lacksFreeSpace(facts) { return .freeSpace }
        return oldest.newest.duration(to: facts.now) >= patience(with: oldest) ? .age : nil
    }

    /// How old a range may become: what a destination is being offered may still be taken.
    private func patience(with range: RetentionFacts.ClosedRange) -> Duration {
        range.isUnderWay ? settings.maxAge + settings.maxAge : settings.maxAge
    }

    /// How long a range stays open on a host where little happens, so that age is judged of what is about as old.
    private var longestOpen: Duration {
        max(Self.interval, min(settings.maxAge / 10, .seconds(86_400)))
    }

    private func untilNextLook(_ facts: RetentionFacts) -> Duration {
        guard let oldest = facts.oldest else { return Self.interval }
        let left = patience(with: oldest) - oldest.newest.duration(to: facts.now)
        return max(.seconds(1), min(Self.interval, left))
    }
}
