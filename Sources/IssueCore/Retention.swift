package import IssueProtocol

/// Decides which records of closed ranges are removed.
///
/// Records that are too old are removed range by range, the oldest range first. Applications with a lower maximum age
/// than others lose their records of a range earlier. If space is short, the user with the most data loses records
/// first (`EvictionPolicy`). If this user's records in a range are a large part of all data, only the oldest of them
/// are removed. If other files fill the disk and removing all records would not free enough space, no records are
/// removed to free disk space.
///
/// Ages are in log time, which changes by at most a day if the wall clock is set to a wrong time (`RecordLogInstant`).
package struct Retention: Equatable, Sendable {
    /// Why records are removed.
    package enum Reason: String, Equatable, Sendable {
        case age
        case size
        case freeSpace = "free space"
    }

    package enum Action: Equatable, Sendable {
        /// Remove a range.
        case forget(RetentionSnapshot.ClosedRange, Reason)
        /// Remove the records of a user's frequent groups, or of all their groups, from a range; see `EvictionPolicy`.
        case thin(RetentionSnapshot.Holding, Reason)
        /// Like `thin`, but remove only about this fraction (0 to 1) of these records, the oldest ones.
        case trim(RetentionSnapshot.Holding, fraction: Double, Reason)
        /// Remove the records of some applications from a range, because of their age.
        case expire(RetentionSnapshot.AgedRange)
        /// Estimate the space of series without records, which is unknown after a start.
        case countUnreferenced
        /// Remove those series of these user ids that have no records, with their counts, and groups that then have no
        /// series.
        case collect(Set<UInt32>)
        /// Close the open range, because it has been open for too long, or because it is full and space is short.
        case closeRange
        /// Do nothing and check again after this time.
        case wait(Duration)
    }

    /// The maximum time between two checks. Checks are more frequent if a maximum age is low or will soon be reached.
    /// Regular checks are needed because nothing notifies the daemon when the disk fills up.
    package static let interval: Duration = .seconds(60)
    /// The time between two steps of a search for ranges with old records of some applications.
    private static let searchPause: Duration = .milliseconds(10)

    package var settings: RetentionSettings

    package init(settings: RetentionSettings) {
        self.settings = settings
    }

    /// Returns the next action.
    package func next(_ snapshot: RetentionSnapshot) -> Action {
        if let oldest = snapshot.oldest, oldest.isEmpty { return .forget(oldest, .age) }
        // After a limit was lowered, the open range may be much larger than a range should be. Closing it needs some
        // space, so on a full disk, closed ranges are removed first.
        let canClose = (snapshot.availableBytes ?? .max) >= settings.disk.sufficientBytes / 2
        if snapshot.isOpenRangeFull, lacksRoom(snapshot), canClose || snapshot.oldest == nil { return .closeRange }
        if let oldest = snapshot.oldest, let reason = reason(toRemove: oldest, snapshot) {
            guard reason != .age else { return .forget(oldest, reason) }
            guard let unreferenced = snapshot.unreferenced else { return .countUnreferenced }
            let users = unreferenced.users(maxSize: settings.maxSize, settings.users)
            guard users.isEmpty else { return .collect(users) }
            // If no user has data left in the oldest range, the whole range is removed.
            guard snapshot.holdings.contains(where: { $0.range.id == oldest.id && $0.bytes > 0 }),
                let candidate = EvictionPolicy.evictionCandidate(snapshot.holdings, settings.users)
            else { return .forget(oldest, reason) }
            let excess = excessData(snapshot)
            if let fraction = EvictionPolicy.fractionToRemove(of: candidate, snapshot.holdings, excess: excess) {
                return .trim(candidate, fraction: fraction, reason)
            }
            return .thin(candidate, reason)
        }
        if let aged = snapshot.aged,
            aged.range.newest.duration(to: snapshot.now) >= removalAge(aged.maxAge, of: aged.range)
        {
            return .expire(aged)
        }
        if snapshot.isSearchingAged { return .wait(Self.searchPause) }
        if let since = snapshot.openSince, since.duration(to: snapshot.now) >= maxOpenDuration { return .closeRange }
        return .wait(untilNextCheck(snapshot))
    }

    /// Returns `true` if records must be removed for space: the database exceeds its maximum size, or the disk has too
    /// little free space and removing records can free enough.
    package func lacksRoom(_ snapshot: RetentionSnapshot) -> Bool {
        snapshot.usedBytes > settings.maxSize || freeSpace(snapshot) == .short
    }

    /// Compares the free space of the disk with the space to keep free. Space that can be freed without removing
    /// records counts as free.
    package func freeSpace(_ snapshot: RetentionSnapshot) -> RetentionSettings.FreeSpace {
        settings.freeSpace(bytes: snapshot.availableBytes, usedBytes: snapshot.usedBytes)
    }

    /// Returns the approximate size of the records that must be removed for space.
    ///
    /// The size is in the unit of `RetentionSnapshot.Holding.bytes`. It differs from the space in the file, which holds
    /// records in compressed form, together with series, counts and indexes.
    private func excessData(_ snapshot: RetentionSnapshot) -> Int64 {
        var excess = snapshot.usedBytes.clampedDifference(settings.maxSize)
        if freeSpace(snapshot) == .short, let available = snapshot.availableBytes {
            excess = max(excess, settings.keepFree.clampedDifference(available))
        }
        let data = snapshot.holdings.reduce(snapshot.openBytes) { $0.clampedSum($1.bytes) }
        let stored = max(1, snapshot.usedBytes.clampedDifference(RetentionUsage.emptyBytes))
        return Int64(min(Double(excess) * Double(data) / Double(stored), 1e18))
    }

    private func reason(toRemove oldest: RetentionSnapshot.ClosedRange, _ snapshot: RetentionSnapshot) -> Reason? {
        if snapshot.usedBytes > settings.maxSize { return .size }
        if freeSpace(snapshot) == .short { return .freeSpace }
        return oldest.newest.duration(to: snapshot.now) >= removalAge(maxAge(of: oldest), of: oldest) ? .age : nil
    }

    /// Returns the age at which records of a range are removed: their maximum age, or twice that while a batch with
    /// records of the range is in flight, because the destination may still accept the batch.
    private func removalAge(_ maxAge: Duration, of range: RetentionSnapshot.ClosedRange) -> Duration {
        range.hasBatchInFlight ? maxAge + maxAge : maxAge
    }

    /// Returns the maximum age that applies to the removal of a whole range.
    private func maxAge(of range: RetentionSnapshot.ClosedRange) -> Duration {
        max(settings.maxAge, range.longestAge ?? settings.maxAge)
    }

    /// The maximum time for which a range stays open if it does not fill up earlier. Because of this limit, the records
    /// of a range have about the same age.
    private var maxOpenDuration: Duration {
        max(.seconds(1), min(settings.lowestAge / 10, .seconds(86_400)))
    }

    private func untilNextCheck(_ snapshot: RetentionSnapshot) -> Duration {
        // Records of an application with a low maximum age may be in any range, including the open range.
        let interval = max(.seconds(1), min(Self.interval, settings.lowestAge / 10))
        guard let oldest = snapshot.oldest else { return interval }
        let left = removalAge(maxAge(of: oldest), of: oldest) - oldest.newest.duration(to: snapshot.now)
        return max(.seconds(1), min(interval, left))
    }
}

/// The limits on the size and age of the record log.
package struct RetentionSettings: Hashable, Sendable {
    /// The maximum size of the database, in bytes.
    package var maxSize: Int64
    /// The maximum age of records.
    package var maxAge: Duration
    /// The space that must stay free on the file system, in bytes.
    package var keepFree: Int64
    /// The time without occurrences after which an issue is resolved; zero for never.
    package var resolveAfter: Duration
    /// The maximum ages of applications that have one of their own.
    package var applicationAges: [ApplicationAge] = []
    /// Maps user ids to accountable users. The data of all ids of one user is counted together.
    package var users = AccountableUsers()
    /// The size of the file system that holds the database, in bytes; nil if unknown.
    package var fileSystemBytes: Int64?

    package init(
        maxSize: Int64 = 1 << 30, maxAge: Duration = .seconds(30 * 86_400), keepFree: Int64 = 256 << 20,
        resolveAfter: Duration = .zero
    ) {
        self.resolveAfter = resolveAfter
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.keepFree = keepFree
    }

    /// Returns the maximum age of an application's records.
    ///
    /// A setting for the user takes precedence over one for all users. Of several equally specific settings, the last
    /// one applies.
    ///
    /// - Parameters:
    ///   - uid: The user the application runs as.
    ///   - application: The application's name.
    package func maxAge(uid: UInt32, application: String) -> Duration {
        applicationAges.settings(uid: uid, application: application).last?.maxAge ?? maxAge
    }

    /// The space that the store uses and keeps free apart from the database, on a file system of this size.
    package var disk: DiskBudget { DiskBudget(fileSystemBytes: fileSystemBytes) }

    /// Adapts `keepFree` to the file system: at most half of its size, but at least the space without which the store
    /// could refuse reports.
    ///
    /// - Parameter fileSystemBytes: The size of the file system; nil if unknown.
    package mutating func adapt(toFileSystemOf fileSystemBytes: Int64?) {
        self.fileSystemBytes = fileSystemBytes
        keepFree = max(disk.sufficientBytes, min(keepFree, (fileSystemBytes ?? .max) / 2))
    }

    /// Returns the size that the database may reach: `maxSize`, or less if only that leaves `keepFree` free. If
    /// `keepFree` can't be reached, it is ignored.
    ///
    /// - Parameters:
    ///   - availableBytes: The free space, including the space that can be freed without removing records; nil if
    ///     unknown.
    ///   - usedBytes: The size of the database without its free pages.
    package func effectiveMaxSize(availableBytes: Int64?, usedBytes: Int64) -> Int64 {
        guard let availableBytes, freeSpace(bytes: availableBytes, usedBytes: usedBytes) != .unreachable else {
            return maxSize
        }
        return min(maxSize, usedBytes.clampedSum(availableBytes.clampedDifference(keepFree)))
    }

    /// Returns the number of bytes at which a range is full: an eighth of the size that the database may reach, but at
    /// least 128 KiB. Records are removed range by range. In a small database, a larger range would contain most of the
    /// records.
    ///
    /// - Parameters:
    ///   - maxSize: The size that the database may reach, in bytes.
    ///   - limit: The maximum in a large database, in bytes.
    package static func maxRangeBytes(inDatabaseOf maxSize: Int64, limit: Int) -> Int {
        min(limit, max(Int(maxSize / 8), 128 << 10))
    }

    /// All maximum ages in ascending order, each once.
    package var ages: [Duration] { Set(applicationAges.map(\.maxAge) + [maxAge]).sorted() }
    /// All maximum ages except the highest one. When a range reaches one of these ages, only the records of
    /// applications with this or a lower maximum age are removed from the range.
    package var partialAges: [Duration] { ages.dropLast() }
    package var lowestAge: Duration { ages.first ?? maxAge }
    package var highestAge: Duration { ages.last ?? maxAge }

    /// How the free space of the file system compares with `keepFree`.
    package enum FreeSpace: Equatable, Sendable {
        /// Enough is free, or it is unknown how much is free.
        case enough
        /// Too little is free, and removing records can free enough.
        case short
        /// So little is free that removing all records would not free enough. Other files take up the space.
        case unreachable
    }

    /// Compares the free space with `keepFree`.
    ///
    /// Removing records turns used bytes of the database into free space, so it never turns `short` into `unreachable`.
    ///
    /// - Parameters:
    ///   - bytes: The free space, including the space that can be freed without removing records; nil if unknown.
    ///   - usedBytes: The size of the database without its free pages.
    func freeSpace(bytes: Int64?, usedBytes: Int64) -> FreeSpace {
        guard let bytes, bytes < keepFree else { return .enough }
        let releasableBytes = max(0, usedBytes.clampedDifference(RetentionUsage.emptyBytes))
        return keepFree.clampedDifference(bytes) <= releasableBytes ? .short : .unreachable
    }
}

/// The maximum age of the records of one application (`MaxAge=` in `[Limits NAME]`).
package struct ApplicationAge: ApplicationSetting, Hashable, Sendable {
    /// The name of the application.
    package var name: String
    /// The user of the application; nil if the maximum age applies to all users.
    package var uid: UInt32?
    package var maxAge: Duration

    package init(name: String, uid: UInt32? = nil, maxAge: Duration) {
        (self.name, self.uid, self.maxAge) = (name, uid, maxAge)
    }
}

/// The state of the store and the disk that retention depends on. All sizes are in bytes.
package struct RetentionSnapshot: Equatable, Sendable {
    /// A closed range of records.
    package struct ClosedRange: Equatable, Sendable {
        package var id: Int64
        /// The first row id of the range.
        package var firstID: RowID
        /// The last row id of the range.
        package var lastID: RowID
        /// The log time of the range's newest record.
        package var newest: RecordLogInstant
        /// Whether a batch that is in flight has records of the range.
        package var hasBatchInFlight: Bool
        /// Whether all records of the range were removed. What is left are empty posting lists, which link the older
        /// lists of their series with the newer ones. Set only for `RetentionSnapshot.oldest`.
        package var isEmpty = false
        /// The longest maximum age of an application with records in the range, if it exceeds the general one;
        /// otherwise nil. Set only for `RetentionSnapshot.oldest`.
        package var longestAge: Duration?

        package init(id: Int64, firstID: RowID, lastID: RowID, newest: RecordLogInstant, hasBatchInFlight: Bool) {
            self.id = id
            self.firstID = firstID
            self.lastID = lastID
            self.newest = newest
            self.hasBatchInFlight = hasBatchInFlight
        }
    }

    /// A closed range in which records of some applications may be too old.
    package struct AgedRange: Equatable, Sendable {
        package var range: ClosedRange
        /// The applications whose records may be too old.
        package var accounts: Set<AccountID>
        /// The age that the records must have reached; at least the maximum age of each of these applications.
        package var maxAge: Duration

        package init(range: ClosedRange, accounts: Set<AccountID>, maxAge: Duration) {
            (self.range, self.accounts, self.maxAge) = (range, accounts, maxAge)
        }
    }

    /// The data of one user id in one closed range.
    package struct Holding: Equatable, Sendable {
        /// The range. Its `newest` and `hasBatchInFlight` are not valid.
        package var range: ClosedRange
        package var user: UInt32
        /// The size of the records when they were received, with an estimate for their series.
        package var bytes: Int64
        /// Whether no record in this or an earlier range is pending for a destination.
        package var isSettled: Bool

        package init(range: ClosedRange, user: UInt32, bytes: Int64, isSettled: Bool) {
            self.range = range
            self.user = user
            self.bytes = bytes
            self.isSettled = isSettled
        }
    }

    /// The oldest closed range that still has records or posting lists; nil if there is none.
    package var oldest: ClosedRange?
    /// The next range in which records of some applications may be too old; nil if there is none.
    package var aged: AgedRange?
    /// Whether more ranges must be searched for records that exceed the maximum age of their application.
    package var isSearchingAged = false
    /// The estimated space of series without records; nil if it has not been counted since the start.
    package var unreferenced: UnreferencedSeries? = UnreferencedSeries()
    /// The data of each user id in each closed range. Empty unless space is short.
    package var holdings: [Holding] = []
    /// The log time of the first record in the open range; nil if the range is empty.
    package var openSince: RecordLogInstant?
    /// The data in the open range, in the unit of `Holding.bytes`.
    package var openBytes: Int64 = 0
    /// Whether the open range has reached its maximum size. The next commit then closes it.
    package var isOpenRangeFull = false
    /// The size of the database without its free pages.
    package var usedBytes: Int64
    /// The size of the database's free pages, which can be returned to the file system.
    package var spareBytes: Int64
    /// The free space on the file system; nil if unknown.
    package var freeBytes: Int64?
    /// The bytes of the write-ahead log (WAL) beyond its usual size. A checkpoint frees them; removing records does
    /// not.
    package var excessWALBytes: Int64 = 0
    package var now: RecordLogInstant

    /// The free space of the file system, including the space that can be freed without removing records; nil if
    /// unknown.
    package var availableBytes: Int64? { freeBytes?.clampedSum(spareBytes).clampedSum(excessWALBytes) }

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

/// Chooses which user's records are removed first if space is short.
///
/// The user with the most data comes first, so that users with little data do not lose records because of others. Among
/// the user's ranges, settled ranges come before the others, and older ranges before newer ones. Ranges with less than
/// half of the user's average volume per range are skipped for now. Most such ranges have already lost records.
package enum EvictionPolicy {
    /// The maximum number of records of a rare group in a range. Records of rare groups are kept longer than others.
    private static let maxRareRecords = 16

    /// Returns the user id and the range from which records are removed next; nil if no user has data.
    ///
    /// - Parameters:
    ///   - holdings: The data of each user id in each range.
    ///   - users: Maps user ids to accountable users.
    package static func evictionCandidate(
        _ holdings: [RetentionSnapshot.Holding], _ users: AccountableUsers = AccountableUsers()
    ) -> RetentionSnapshot.Holding? {
        guard let user = largestUser(holdings.lazy.map { ($0.user, $0.bytes) }, users) else { return nil }
        let own = holdings.filter { users.owner(of: $0.user) == user && $0.bytes > 0 }
        let settled = own.filter(\.isSettled)
        let candidates = settled.isEmpty ? own : settled
        let mean = candidates.reduce(0) { $0 + $1.bytes } / Int64(candidates.count)
        return candidates.filter { $0.bytes >= mean / 2 }.min { $0.range.id < $1.range.id }
    }

    /// Returns the fraction (0 to 1) of a candidate's records to remove, the oldest ones. Returns nil if all of them
    /// should be removed, which is cheaper.
    ///
    /// A part is removed if the rest would make up at least a quarter of what remains of all data. This happens if a
    /// limit on space was lowered after the range was filled, or if there is space for few ranges. At least a sixteenth
    /// is removed, so that few removals are enough if the estimate of `excess` is too low.
    ///
    /// - Parameters:
    ///   - candidate: The data from which records are removed.
    ///   - holdings: The data of each user id in each range.
    ///   - excess: The size of the data that must be removed, in the unit of `Holding.bytes`.
    package static func fractionToRemove(
        of candidate: RetentionSnapshot.Holding, _ holdings: [RetentionSnapshot.Holding], excess: Int64
    ) -> Double? {
        let excess = max(excess, candidate.bytes / 16, 1)
        let rest = candidate.bytes - excess
        let all = holdings.reduce(0) { $0 + $1.bytes } - excess
        guard rest > 0, rest >= all / 4 else { return nil }
        return Double(excess) / Double(candidate.bytes)
    }

    /// Returns the user with the most data; nil if no user has data.
    ///
    /// - Parameters:
    ///   - shares: User ids with the bytes of their data.
    ///   - users: Maps user ids to accountable users.
    package static func largestUser(
        _ shares: some Sequence<(user: UInt32, bytes: Int64)>, _ users: AccountableUsers
    ) -> UInt32? {
        var sums: [UInt32: Int64] = [:]
        for (user, bytes) in shares where bytes > 0 { sums[users.owner(of: user), default: 0] += bytes }
        return sums.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
    }

    /// Returns the groups whose records are removed from a range: the groups that are not rare, or all groups if the
    /// rare ones make up more than half of the volume.
    ///
    /// - Parameter groups: The groups of one user in the range.
    package static func groupsToRemove(_ groups: [GroupID: GroupVolume]) -> Set<GroupID> {
        let limit = rareLimit(groups.values.lazy.map(\.records))
        let frequent = groups.filter { $0.value.records > limit }
        let isFrequentEnough = 2 * volume(of: frequent) >= volume(of: groups)
        return Set((isFrequentEnough ? frequent : groups).keys)
    }

    /// Returns the maximum number of records of a rare group: at most 16, and less if all rare groups together would
    /// have more than 64 records and more than a 1,024th of all records.
    ///
    /// A block that contains a record of a rare group must be rewritten without its other records. A full block has 256
    /// records, so at most a quarter of the blocks of a large range must be rewritten for this reason. Further blocks
    /// must be rewritten because the last record of a group is kept if the group has not occurred after the range.
    ///
    /// - Parameter counts: The number of records of each group.
    private static func rareLimit(_ counts: some Sequence<Int64>) -> Int64 {
        var total: Int64 = 0
        // At index `n`, the total number of records of all groups that have `n` records.
        var records = [Int64](repeating: 0, count: maxRareRecords + 1)
        for count in counts {
            total += count
            if (1...Int64(maxRareRecords)).contains(count) { records[Int(count)] += count }
        }
        let budget = max(64, total / 1024)
        var rare: Int64 = 0
        let tooLarge = (1...maxRareRecords).first { size in
            rare += records[size]
            return rare > budget
        }
        return Int64(tooLarge.map { $0 - 1 } ?? maxRareRecords)
    }

    private static func volume(of groups: [GroupID: GroupVolume]) -> Int64 {
        groups.values.reduce(0) { $0 + $1.bytes }
    }
}

/// The number and size of a group's records in one range.
package struct GroupVolume: Equatable, Sendable {
    package var records: Int64
    /// Their approximate size, in bytes.
    package var bytes: Int64

    package init(records: Int64 = 0, bytes: Int64 = 0) {
        (self.records, self.bytes) = (records, bytes)
    }
}

/// An estimate of the space that series, groups and counts still take up although retention has removed their records.
///
/// This space no longer counts as the data of a user. If it were not freed first, retention would go on to remove
/// records of other users.
package struct UnreferencedSeries: Equatable, Sendable {
    /// The bytes by user id.
    private var bytes: [UInt32: Int64] = [:]
    /// The estimated size, in bytes, up to which the unreferenced series of a user are kept whatever the maximum size
    /// of the database is.
    fileprivate static let allowance: Int64 = 256 << 10

    package init() {}

    /// Adds a series that has probably lost its last record.
    ///
    /// - Parameters:
    ///   - keyBytes: The size of the series' key, in bytes.
    ///   - user: The id of the user whose series it is.
    package mutating func add(keyBytes: Int64, of user: UInt32) {
        // The columns of a series repeat its key.
        bytes[user, default: 0] += RangePostings.Posting.bytesOfSeries + 2 * keyBytes
    }

    /// Adds the series of another estimate.
    package mutating func add(_ other: UnreferencedSeries) {
        bytes.merge(other.bytes) { $0 + $1 }
    }

    /// Removes all series of some user ids.
    package mutating func remove(_ users: Set<UInt32>) {
        for user in users { bytes[user] = nil }
    }

    /// Returns all user ids of those accountable users whose series without records exceed 256 KiB and a 1,024th of the
    /// maximum size. These series are removed before records are removed for lack of space.
    ///
    /// - Parameters:
    ///   - maxSize: The maximum size of the database, in bytes.
    ///   - users: Maps user ids to accountable users.
    package func users(maxSize: Int64, _ users: AccountableUsers) -> Set<UInt32> {
        var sums: [UInt32: Int64] = [:]
        for (user, bytes) in bytes { sums[users.owner(of: user), default: 0] += bytes }
        return Set(bytes.keys.filter { sums[users.owner(of: $0), default: 0] > max(maxSize / 1024, Self.allowance) })
    }
}

/// Chooses which issues without records are no longer kept.
///
/// A resolved or muted issue is kept after its records were removed, so that the state still applies when it is
/// reported again. The issues that are kept for one user may only take a limited space, so that no user can fill the
/// database with them; the oldest ones are removed.
///
/// The issues are examined in two passes: the first one adds up their sizes, the second one removes some. Each pass
/// consists of steps, which examine a limited number of issues each.
package struct KeptIssues: Equatable, Sendable {
    /// The bytes by accountable user.
    private var bytes: [UInt32: Int64] = [:]
    /// Whether this is the first pass.
    private var isCounting = true
    private let limit: Int64
    private let users: AccountableUsers
    /// The issues with a higher id are examined next; nil after the last pass.
    package private(set) var position: GroupID? = 0

    /// - Parameter settings: The limits. The issues of a user may take a 64th of the maximum size of the database, but
    ///   at least 256 KiB.
    package init(_ settings: RetentionSettings) {
        limit = max(settings.maxSize / 64, UnreferencedSeries.allowance)
        users = settings.users
    }

    /// Handles the next issue, in ascending order of ids.
    ///
    /// - Parameters:
    ///   - bytes: The approximate size of the issue, in bytes.
    ///   - user: The user id of the issue.
    /// - Returns: `true` if the issue must be removed; always `false` in the first pass.
    package mutating func examine(bytes size: Int64, of user: UInt32) -> Bool {
        let owner = users.owner(of: user)
        guard !isCounting else {
            bytes[owner, default: 0] += size
            return false
        }
        guard let sum = bytes[owner], sum > limit else { return false }
        bytes[owner] = sum - size
        return true
    }

    /// Handles the end of a step. Another pass follows the first one if the issues of a user exceed the limit.
    ///
    /// - Parameter last: The last issue that was examined; nil if none was left in this pass.
    package mutating func stepEnded(at last: GroupID?) {
        let hasAnotherPass = isCounting && bytes.values.contains { $0 > limit }
        position = last ?? (hasAnotherPass ? 0 : nil)
        if last == nil { isCounting = false }
    }
}

/// The state of the store from which the next removals by retention are predicted. All sizes are in bytes.
package struct RetentionUsage: Equatable, Sendable {
    /// Records that have the same maximum age and are removed together.
    package struct Portion: Equatable, Sendable {
        /// The application; nil for all applications without a maximum age of their own.
        package var app: String?
        /// The user of the application; nil if `app` is nil.
        package var uid: UInt32?
        package var maxAge: Duration
        /// The highest time of receipt in the closed range that contains these records, which determines when they are
        /// removed; nil if there are none. Records in the open range are not removed.
        package var newest: IssueTimestamp?
        package var records: Int64

        package init(
            app: String? = nil, uid: UInt32? = nil, maxAge: Duration, newest: IssueTimestamp?, records: Int64
        ) {
            (self.app, self.uid, self.maxAge) = (app, uid, maxAge)
            (self.newest, self.records) = (newest, records)
        }
    }

    package var records: Int64 = 0
    package var oldest: IssueTimestamp?
    /// The size of the database without its free pages.
    package var usedBytes: Int64 = 0
    /// The size of the free pages of the database.
    package var spareBytes: Int64 = 0
    /// The bytes of the write-ahead log (WAL) beyond its usual size. A checkpoint frees them.
    package var excessWALBytes: Int64 = 0
    /// The free space of the file system; nil if unknown.
    package var freeBytes: Int64?
    /// The number of records that were received in `period`, including records that were removed since.
    package var recentRecords: Int64 = 0
    /// The time over which `recentRecords` are counted: the last 24 hours, or less if the store is younger.
    package var period: Duration = .seconds(86_400)
    /// The average received size of the records in closed ranges, in bytes; nil if there are none.
    package var averageBytes: Int64?
    package var portions: [Portion] = []
    /// The user with the most data in closed ranges; nil if there is none.
    package var largestUser: UInt32?

    /// The approximate size of a database without records, in bytes.
    package static let emptyBytes: Int64 = 512 << 10
    /// The minimum size that is assumed for a record, in bytes.
    private static let minRecordBytes = 60.0
    /// The minimum `period` for a prediction of growth. With a shorter one, the prediction could be based on one
    /// burst of records.
    private static let minPeriod: Duration = .seconds(6 * 3600)

    /// The free space of the file system, including the space that can be freed without removing records; nil if
    /// unknown.
    private var availableBytes: Int64? { freeBytes?.clampedSum(spareBytes).clampedSum(excessWALBytes) }

    package init() {}

    /// The bytes that new records add in a day; nil if the store is too young or has no records in closed ranges.
    package var growth: Int64? {
        guard records > 0, period >= Self.minPeriod, let averageBytes else { return nil }
        // Issues, series and counts outlive their records. After many records were removed, for example because
        // MaxSize= was lowered, the size per stored record is therefore too high. It is limited to the average received
        // size, because a stored record takes less space than it had when it was received.
        let stored = Double(usedBytes - Self.emptyBytes) / Double(records)
        let size = max(Self.minRecordBytes, min(stored, Double(averageBytes)))
        let perDay = size * Double(recentRecords) / (period / .seconds(86_400))
        return Int64(min(perDay, 1e18))
    }

    /// Returns what retention removes next, and when.
    ///
    /// The number of records is nil for a limit on space, because it depends on the ranges that are closed before the
    /// limit is reached. For a maximum age, it is nil if that age applies to no records in closed ranges. A time is nil
    /// if nothing is expected to be removed before the open range is closed.
    ///
    /// New records are expected at the rate of the last day, with the average size of stored records or, if that is
    /// lower, of received records. A limit on space is not expected to be reached if records reach their maximum age
    /// first, because from then on as much is removed as is added.
    package func reply(_ settings: RetentionSettings, now: IssueTimestamp) -> RetentionReply {
        var rules = portions.map { portion in
            RetentionRule(
                .maxAge, app: portion.app, uid: portion.uid, age: portion.maxAge,
                at: portion.newest?.advanced(by: portion.maxAge),
                records: portion.newest == nil ? nil : portion.records)
        }
        if !portions.contains(where: { $0.app == nil }) { rules.append(RetentionRule(.maxAge, age: settings.maxAge)) }
        // The database grows until the oldest records reach the general maximum age.
        let firstRemoval =
            rules.first { $0.app == nil }?.at ?? oldest?.advanced(by: settings.maxAge)
        /// Returns the time at which more than `room` bytes will have been added; nil if this is not expected, or if
        /// all records are in the open range.
        func whenFull(_ room: Int64) -> IssueTimestamp? {
            // The open range is not removed.
            if room < 0 { return largestUser == nil ? nil : now }
            guard let growth, growth > 0 else { return nil }
            let days = Double(room) / Double(growth)
            guard days < 36_525 else { return nil }
            let at = now.advanced(by: .seconds(Int64(days * 86_400)))
            return firstRemoval.map { at > $0 } ?? false ? nil : at
        }
        rules.append(
            RetentionRule(.maxSize, uid: largestUser, at: whenFull(settings.maxSize.clampedDifference(usedBytes))))
        let isReachable = settings.freeSpace(bytes: availableBytes, usedBytes: usedBytes) != .unreachable
        rules.append(
            RetentionRule(
                .keepFree, uid: largestUser,
                at: isReachable ? availableBytes.flatMap { whenFull($0.clampedDifference(settings.keepFree)) } : nil))
        let sorted = rules.enumerated().sorted { left, right in
            switch (left.element.at, right.element.at) {
            case (let one?, let other?) where one != other: one < other
            case (.some, nil): true
            case (nil, .some): false
            default: left.offset < right.offset
            }
        }.map(\.element)
        return RetentionReply(
            records: records, oldest: oldest, bytes: usedBytes, maxBytes: settings.maxSize, freeBytes: freeBytes,
            keepFree: settings.keepFree, growth: growth, isUnreachable: isReachable ? nil : true, rules: sorted)
    }
}
