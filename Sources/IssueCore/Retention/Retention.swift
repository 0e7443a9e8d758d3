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
        case forget(RetentionSnapshot.ClosedRange, Reason)
        /// What a user has most of in a range goes.
        case thin(RetentionSnapshot.Holding, Reason)
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
    package func next(_ facts: RetentionSnapshot) -> Action {
        if let oldest = facts.oldest, let reason = reason(toForget: oldest, facts) {
            // An oldest range in which nobody has anything is only a rest.
            guard reason != .age, facts.holdings.contains(where: { $0.range.id == oldest.id && $0.bytes > 0 }),
                let evictionCandidate = Fairness.evictionCandidate(facts.holdings)
            else { return .forget(oldest, reason) }
            return .thin(evictionCandidate, reason)
        }
        if let since = facts.openSince, since.duration(to: facts.now) >= longestOpen { return .closeRange }
        return .rest(untilNextLook(facts))
    }

    /// Whether the database or the disk holds more than it should.
    package func lacksRoom(_ facts: RetentionSnapshot) -> Bool {
        facts.usedBytes > settings.maxSize || lacksFreeSpace(facts)
    }

    /// Whether too little is free on the disk, with everything that comes back without removing a record.
    private func lacksFreeSpace(_ facts: RetentionSnapshot) -> Bool {
        guard let free = facts.freeBytes else { return false }
        return free.clampedSum(facts.spareBytes).clampedSum(facts.excessWALBytes) < settings.keepFree
    }

    private func reason(toForget oldest: RetentionSnapshot.ClosedRange, _ facts: RetentionSnapshot) -> Reason? {
        if facts.usedBytes > settings.maxSize { return .size }
        if lacksFreeSpace(facts) { return .freeSpace }
        return oldest.newest.duration(to: facts.now) >= timeout(with: oldest) ? .age : nil
    }

    /// How old a range may become: what a destination is being offered may still be taken.
    private func timeout(with range: RetentionSnapshot.ClosedRange) -> Duration {
        range.isUnderWay ? settings.maxAge + settings.maxAge : settings.maxAge
    }

    /// How long a range stays open on a host where little happens, so that age is judged of what is about as old.
    private var longestOpen: Duration {
        max(Self.interval, min(settings.maxAge / 10, .seconds(86_400)))
    }

    private func untilNextLook(_ facts: RetentionSnapshot) -> Duration {
        guard let oldest = facts.oldest else { return Self.interval }
        let left = timeout(with: oldest) - oldest.newest.duration(to: facts.now)
        return max(.seconds(1), min(Self.interval, left))
    }
}

/// How much of the log is kept, and how long.
package struct RetentionSettings: Hashable, Sendable {
    /// In bytes, as all sizes here.
    package var maxSize: Int64
    package var maxAge: Duration
    /// What stays free on the file system.
    package var keepFree: Int64

    package init(
        maxSize: Int64 = 1 << 30, maxAge: Duration = .seconds(30 * 86_400), keepFree: Int64 = 256 << 20
    ) {
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.keepFree = keepFree
    }
}

/// What retention has to know of the store and of the disk.
package struct RetentionSnapshot: Equatable, Sendable {
    /// A range that is closed.
    package struct ClosedRange: Equatable, Sendable {
        package var id: Int64
        package var firstID: Int64
        package var lastID: Int64
        /// When its last record came, by the log's clock.
        package var newest: RecordLogInstant
        /// Whether a batch refers to it whose answer is not known.
        package var isUnderWay: Bool

        package init(id: Int64, firstID: Int64, lastID: Int64, newest: RecordLogInstant, isUnderWay: Bool) {
            self.id = id
            self.firstID = firstID
            self.lastID = lastID
            self.newest = newest
            self.isUnderWay = isUnderWay
        }
    }

    /// The oldest closed range of which something is left.
    package var oldest: ClosedRange?
    /// Who has what in which closed range; only where there is too little room.
    package var holdings: [Holding] = []
    /// When the first record of the open range came, by the log's clock.
    package var openSince: RecordLogInstant?
    /// What the database holds, without the pages in it that are free.
    package var usedBytes: Int64
    /// The pages in the database that are free: the disk can have them back.
    package var spareBytes: Int64
    /// What is free on the file system; nothing where that is not known.
    package var freeBytes: Int64?
    /// The bytes that the write-ahead log takes beyond its usual size. A checkpoint frees them; removing records does
    /// not.
    package var excessWALBytes: Int64 = 0
    package var now: RecordLogInstant

    package init(
        oldest: ClosedRange?, openSince: RecordLogInstant?, usedBytes: Int64, spareBytes: Int64, freeBytes: Int64?,
        now: RecordLogInstant
    ) {
        self.oldest = oldest
        self.openSince = openSince
        self.usedBytes = usedBytes
        self.spareBytes = spareBytes
        self.freeBytes = freeBytes
        self.now = now
    }
}

extension RetentionSnapshot {
    /// What one user has in one closed range.
    package struct Holding: Equatable, Sendable {
        package var range: ClosedRange
        package var user: UInt32
        package var bytes: Int64
        /// Whether nothing in the range waits for a destination any more.
        package var isSettled: Bool

        package init(range: ClosedRange, user: UInt32, bytes: Int64, isSettled: Bool) {
            self.range = range
            self.user = user
            self.bytes = bytes
            self.isSettled = isSettled
        }
    }
}

/// Who gives room first when there is too little, and of what.
///
/// The user who takes most gives first: so no quiet user loses anything for
/// the noise of another. Of what he has the settled goes before the pending,
/// and the older before the younger; but a range that has given already waits
/// until the others are as small.
package enum Fairness {
    /// What gives next, or nothing where nobody has anything.
    package static func evictionCandidate(_ holdings: [RetentionSnapshot.Holding]) -> RetentionSnapshot.Holding? {
        var sums: [UInt32: Int64] = [:]
        for holding in holdings where holding.bytes > 0 { sums[holding.user, default: 0] += holding.bytes }
        let most = sums.max { ($0.value, $1.key) < ($1.value, $0.key) }
        guard let user = most?.key else { return nil }
        let own = holdings.filter { $0.user == user && $0.bytes > 0 }
        let settled = own.filter(\.isSettled)
        let giving = settled.isEmpty ? own : settled
        let mean = giving.reduce(0) { $0 + $1.bytes } / Int64(giving.count)
        return giving.filter { $0.bytes >= mean }.min { $0.range.id < $1.range.id }
    }

    /// The groups that together make seven eighths of the noise, and those that are as noisy as the last of them.
    package static func noisiest(_ groups: [Int64: Int64]) -> Set<Int64> {
        let sorted = groups.sorted { ($0.value, $1.key) > ($1.value, $0.key) }
        let noise = groups.values.reduce(0, +)
        let enough = noise - noise / 8
        var sum: Int64 = 0
        var least = Int64.max
        for group in sorted {
            guard least == .max || sum < enough || group.value == least else { break }
            sum += group.value
            least = group.value
        }
        return Set(sorted.filter { $0.value >= least }.map(\.key))
    }
}

/// Whether the database may grow in a commit: only as far as its log can always be copied.
///
/// The pages that a commit adds are in the log at first, and the file gets them
/// when the log is copied. Where something else has filled the disk by then
/// there would be no way back: the log can't be copied, and what is not copied
/// never gives its space free. So where little is left, the file has its pages
/// before the commit, and something stays for the log, in which records are also removed.
package struct GrowthReserve: Equatable, Sendable {
    package enum Step: Equatable, Sendable {
        case commit
        /// The file is to have all pages of the database first.
        case extend
        case refuse
    }

    /// What nobody is expected to fill between two copies of the log.
    private let plenty: Int64
    /// What the log takes until it begins anew.
    private let log: Int64
    /// Bytes that always stay free, for what SQLite writes in addition to the log.
    private let least: Int64

    package init(plenty: Int64 = 256 << 20, log: Int64 = 12 << 20, least: Int64 = 1 << 20) {
        self.plenty = plenty
        self.log = log
        self.least = least
    }

    /// A commit is to be made, after which the database has so many bytes.
    ///
    /// - Parameters:
    ///   - fileBytes: how long its file is now.
    ///   - logBytes: what the log has on the disk already.
    ///   - logGrows: whether the commit may need more of the disk than that.
    ///   - freeBytes: what is free there; nothing where that is not known.
    ///   - mayUseReserve: whether it is one that in the end makes room.
    package func committing(
        databaseBytes: Int64, fileBytes: Int64, logBytes: Int64, logGrows: Bool = false, freeBytes: Int64?,
        mayUseReserve: Bool
    ) -> Step {
        let owed = max(0, databaseBytes - fileBytes)
        guard owed > 0 || logGrows, let freeBytes, freeBytes - owed < plenty else { return .commit }
        guard freeBytes - owed >= (mayUseReserve ? 0 : max(least, log - logBytes)) else { return .refuse }
        return owed > 0 ? .extend : .commit
    }
}
