import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Maintenance of the store between commits, such as retention, ending mutes, resolving quiet issues, moving groups to
/// a new fingerprint rule, and returning free pages to the file system.
///
/// It works in small steps, so that no report waits long. Free pages are returned only while the writer is idle or the
/// disk is full.
struct StoreMaintenance {
    /// The removal of records from one closed range, in several steps.
    private struct ExpiryRun {
        enum Part {
            /// The whole range.
            case range(RetentionSnapshot.ClosedRange)
            /// Some records of the range.
            case selected(Thinning, Cause)
        }

        /// Why records of a range are selected.
        enum Cause {
            /// The user takes up the most space.
            case user(UInt32)
            /// The records of some applications are too old.
            case age
        }

        var part: Part
        var reason: Retention.Reason
        /// The series that probably have no records afterwards. Determined only if one user's records are removed to
        /// free space.
        var unreferenced = UnreferencedSeries()
        /// The number of removed records.
        var records: Int64 = 0
        /// The number of fates of these records that were pending and are now expired, at all destinations together.
        var expired: Int64 = 0
    }

    /// The next step of counting or removing series without records.
    private enum CollectionStep {
        /// Count unreferenced series, beginning above the id `above`.
        case counting(UnreferencedSeries, above: SeriesID)
        /// Remove unreferenced series of these users, beginning above the id `above`.
        case series(of: Set<UInt32>, above: SeriesID, removed: Int = 0)
        /// Remove the oldest issues without series of each user whose kept issues take too much space (`KeptIssues`).
        case issues(KeptIssues)
        /// Remove the counts of series that no longer exist.
        case counts(fromMinute: Int64)
    }

    /// The kind of a removal. Removals of one kind are logged together.
    private struct RemovalKind: Hashable {
        var reason: Retention.Reason
        /// The user whose records are removed because they take up the most space; nil for other removals.
        var uid: UInt32?
        /// Whether pending records expired.
        var isLoss: Bool
    }

    private let folder: String
    /// Called when unreferenced rows should be removed.
    private let removed: () -> Void
    private let log: Log
    /// Called at each check, with whether other files leave too little free space.
    var onKeepFree: (Bool) -> Void = { _ in }
    private var expiry: ExpiryRun?
    private var collecting: CollectionStep?
    /// The estimated space of series without records; nil if it has not been counted since the start.
    private var unreferenced: UnreferencedSeries?
    /// Whether there may be old producer marks to delete.
    private var hasOldMarks = false
    /// Whether free pages are being returned to the file system.
    private var isShrinking = false
    /// How long one call of `step` may continue with further steps. Above zero only if the store exceeds `MaxSize=` by
    /// more than a sixteenth.
    private var turn = Duration.zero
    private var nextCheck = MonotonicInstant(sinceBoot: .zero)
    private var nextMarkCheck = MonotonicInstant(sinceBoot: .zero)
    /// The time of the next search for requeued dead letters whose records are gone or can't be read.
    private var nextSinglesCheck = MonotonicInstant(sinceBoot: .zero)
    /// The earliest time at which an expired mute is ended, after a failure.
    private var nextMuteCheck = MonotonicInstant(sinceBoot: .zero)
    /// The numbers of groups that were moved to the newest fingerprint rule, and not logged yet.
    private var regrouped = (changed: 0, merged: 0)
    /// The earliest time at which groups are moved, after a failure.
    private var nextRegrouping = MonotonicInstant(sinceBoot: .zero)
    /// Whether records were removed since unreferenced rows, such as series without records, were last removed.
    private var hasUnreferencedRows = false
    private var nextCollection = MonotonicInstant(sinceBoot: .zero)
    /// The last group that the current pass over quiet issues has examined; nil between passes.
    private var quietGroup: GroupID?
    private var quietCount = 0
    private var nextQuietPass = MonotonicInstant(sinceBoot: .zero)
    private var lastFailure: StoreFailure?
    /// The numbers of removed and of expired records that are not logged yet.
    private var unlogged: [RemovalKind: (records: RepeatedEventCounter, expired: RepeatedEventCounter)] = [:]
    /// Whether other files left too little free space at the last check, which is logged once.
    private var isFreeSpaceUnreachable = false
    /// The number of closed ranges and the settings at the last check. If one of them changes, there is a new check.
    private var seen: (ranges: Int64, settings: RetentionSettings)?

    /// The age after which producer marks are deleted.
    private static let markAge: Duration = .seconds(30 * 86_400)
    /// The interval between searches for old producer marks, and between removals of unreferenced rows.
    private static let cleanupInterval: Duration = .seconds(3600)
    private static let singlesInterval: Duration = .seconds(60)
    /// The time before the next check after a failure.
    private static let pause: Duration = .seconds(60)
    /// The time before the next check after the disk was full.
    private static let shortPause: Duration = .seconds(1)
    /// The maximum time between two checks while other files leave too little free space, so that `status` soon shows
    /// when there is enough again.
    private static let freeSpaceInterval: Duration = .seconds(5)
    private static let pagesPerStep: Int64 = 64
    /// The value of `turn` if the store exceeds `MaxSize=` by more than a sixteenth.
    private static let turn: Duration = .milliseconds(4)
    /// The value of `turn` if the store exceeds `MaxSize=` by more than a quarter.
    private static let longTurn: Duration = .milliseconds(10)

    init(folder: String, removed: @escaping () -> Void, log: Log) {
        (self.folder, self.removed, self.log) = (folder, removed, log)
    }

    /// Returns when the next step is due; a time in the past if it is due now.
    func deadline(_ writer: StoreWriter) -> MonotonicInstant {
        if expiry != nil || collecting != nil || hasOldMarks || isShrinking || quietGroup != nil {
            return MonotonicInstant(sinceBoot: .zero)
        }
        let nextCheck = writer.mustRegroup ? min(nextCheck, nextRegrouping) : nextCheck
        guard let end = writer.nextMuteEnd else { return nextCheck }
        let wall = Clock.wall
        let left = end > wall ? end.millisecondsSince1970 - wall.millisecondsSince1970 : 0
        return min(nextCheck, max(nextMuteCheck, Clock.monotonic.advanced(by: .milliseconds(left))))
    }

    /// Performs the next step, if one is due. If the store exceeds `MaxSize=` by much, may perform several steps of a
    /// removal.
    ///
    /// - Parameter isIdle: `true` if free pages may be returned now.
    mutating func step(_ writer: StoreWriter, isIdle: Bool, at now: MonotonicInstant) throws(StoreFailure) {
        if expiry != nil {
            repeat {
                try removeRecords(writer, at: now)
            } while expiry != nil && now.duration(to: Clock.monotonic) < turn
        } else if collecting != nil {
            repeat {
                try collect(writer, at: now)
            } while collecting != nil && now.duration(to: Clock.monotonic) < turn
        } else if let end = writer.nextMuteEnd, end <= Clock.wall, now >= nextMuteCheck {
            try writer.endMutes(at: Clock.wall)
            lastFailure = nil
        } else if now >= nextCheck || seen?.ranges != writer.closedRanges || seen?.settings != writer.retention {
            try chooseNextStep(writer, at: now)
        } else if writer.mustRegroup, now >= nextRegrouping {
            try regroup(writer)
        } else if hasOldMarks {
            let oldest = writer.logTime(wall: Clock.wall, monotonic: now).advanced(by: .zero - Self.markAge)
            hasOldMarks = try writer.deleteProducerMarks(before: oldest)
            if !hasOldMarks { lastFailure = nil }
        } else if let group = quietGroup {
            try resolveQuiet(writer, above: group, at: now)
        } else if isShrinking, isIdle {
            isShrinking = try writer.shrink(pages: Self.pagesPerStep) > 0
            guard !isShrinking else { return }
            // The file shrinks when the WAL is copied into it.
            try writer.checkpoint()
            lastFailure = nil
        }
    }

    /// Abandons the work in progress, because a step failed, and postpones the next check.
    ///
    /// - Returns: `true` if the failure must be logged: of several equal failures in a row, only the first one.
    mutating func failed(by failure: StoreFailure, at now: MonotonicInstant) -> Bool {
        (expiry, hasOldMarks, isShrinking, quietGroup) = (nil, false, false, nil)
        // If series without records can't be removed, retention continues with records.
        collecting = nil
        // If the disk was full, the step may succeed as soon as the WAL has been reset.
        nextCheck = now.advanced(by: failure == .noSpace ? Self.shortPause : Self.pause)
        nextMuteCheck = nextCheck
        nextRegrouping = nextCheck
        defer { lastFailure = failure }
        return failure != lastFailure
    }

    /// Schedules a check soon, because there was no space for a report.
    mutating func diskWasFull(at now: MonotonicInstant) {
        nextCheck = min(nextCheck, now.advanced(by: Self.shortPause))
    }

    private mutating func regroup(_ writer: StoreWriter) throws(StoreFailure) {
        let step = try writer.regroup()
        regrouped = (regrouped.changed + step.changed, regrouped.merged + step.merged)
        lastFailure = nil
        guard step.isDone, regrouped != (0, 0) else { return }
        log.notice(.storeRegrouped, ["changed": "\(regrouped.changed)", "merged": "\(regrouped.merged)"])
        regrouped = (0, 0)
    }

    /// Performs the short tasks that are due, and chooses the next step.
    private mutating func chooseNextStep(_ writer: StoreWriter, at now: MonotonicInstant) throws(StoreFailure) {
        seen = (writer.closedRanges, writer.retention)
        for kind in unlogged.keys { logRemoval(kind, at: now) }
        try writer.secureGrowth()
        if now >= nextSinglesCheck {
            try writer.expireUnreadableSingles()
            nextSinglesCheck = now.advanced(by: Self.singlesInterval)
        }
        var facts = try writer.retentionSnapshot(
            freeBytes: FileSystem.freeSpace(in: folder), wall: Clock.wall, monotonic: now)
        facts.unreferenced = unreferenced
        // Once begun, shrinking continues until no free pages are left, even if a check comes in between.
        isShrinking = facts.spareBytes >= (isShrinking ? 1 : writer.retention.disk.spareBytes)
        let excess = facts.usedBytes - writer.retention.maxSize
        turn =
            excess > writer.retention.maxSize / 4
            ? Self.longTurn : excess > writer.retention.maxSize / 16 ? Self.turn : .zero
        if hasUnreferencedRows, now >= nextCollection {
            hasUnreferencedRows = false
            nextCollection = now.advanced(by: Self.cleanupInterval)
            removed()
        }
        if now >= nextMarkCheck {
            hasOldMarks = true
            nextMarkCheck = now.advanced(by: Self.cleanupInterval)
        }
        if let interval = QuietPeriod(writer.retention.resolveAfter).interval, now >= nextQuietPass {
            (quietGroup, quietCount) = (0, 0)
            nextQuietPass = now.advanced(by: interval)
        }
        let retention = Retention(settings: writer.retention)
        noteFreeSpace(retention.freeSpace(facts), facts)
        switch retention.next(facts) {
        case .forget(let range, let reason): expiry = ExpiryRun(part: .range(range), reason: reason)
        case .thin(let holding, let reason): try beginThinning(holding, reason, writer)
        case .trim(let holding, let fraction, let reason):
            try beginThinning(holding, fraction: fraction, reason, writer)
        case .countUnreferenced: collecting = .counting(UnreferencedSeries(), above: 0)
        case .collect(let users):
            collecting = .series(of: users, above: 0)
            unreferenced?.remove(users)
        case .expire(let aged):
            expiry = ExpiryRun(part: .selected(try writer.planExpiry(of: aged), .age), reason: .age)
        case .closeRange: try writer.closeOpenRange()
        case .wait(let wait):
            nextCheck = now.advanced(by: isFreeSpaceUnreachable ? min(wait, Self.freeSpaceInterval) : wait)
        }
    }

    private mutating func beginThinning(
        _ holding: RetentionSnapshot.Holding, fraction: Double = 1, _ reason: Retention.Reason, _ writer: StoreWriter
    ) throws(StoreFailure) {
        let thinning = try writer.planThinning(of: holding.range, user: holding.user, fraction: fraction)
        expiry = ExpiryRun(
            part: thinning.isWhole ? .range(holding.range) : .selected(thinning, .user(holding.user)),
            reason: reason, unreferenced: thinning.unreferenced)
    }

    /// Logs once that `KeepFree=` can't be met because other files fill the disk.
    private mutating func noteFreeSpace(_ space: RetentionSettings.FreeSpace, _ facts: RetentionSnapshot) {
        let isUnreachable = space == .unreachable
        defer { isFreeSpaceUnreachable = isUnreachable }
        onKeepFree(isUnreachable)
        guard isUnreachable, !isFreeSpaceUnreachable else { return }
        let free = facts.freeBytes.map { "\($0)" } ?? "unknown"
        log.warning(.storeKeepFreeUnreachable, ["free": free, "database": "\(facts.usedBytes)"])
    }

    /// Performs the next step of counting or removing series without records.
    private mutating func collect(_ writer: StoreWriter, at now: MonotonicInstant) throws(StoreFailure) {
        switch collecting {
        case nil: return
        case .counting(var found, let above):
            if let last = try writer.countUnreferencedSeries(above: above, &found) {
                collecting = .counting(found, above: last)
            } else {
                (unreferenced, collecting) = (found, nil)
            }
        case .series(let users, let above, var removed):
            let step = try writer.collectSeries(of: users, above: above)
            removed += step.removed
            if let last = step.last {
                collecting = .series(of: users, above: last, removed: removed)
            } else {
                collecting = removed > 0 ? .issues(KeptIssues(writer.retention)) : nil
            }
        case .issues(var kept):
            try writer.collectIssues(&kept)
            collecting = kept.position == nil ? .counts(fromMinute: 0) : .issues(kept)
        case .counts(let minute):
            collecting = try writer.collectCounts(from: minute).map { .counts(fromMinute: $0) }
        }
        lastFailure = nil
        if collecting == nil { nextCheck = now }
    }

    /// Continues the pass over quiet issues.
    private mutating func resolveQuiet(
        _ writer: StoreWriter, above group: GroupID, at now: MonotonicInstant
    ) throws(StoreFailure) {
        let step = try writer.resolveQuiet(above: group, wall: Clock.wall, monotonic: now)
        quietCount += step.resolved
        quietGroup = step.isDone ? nil : step.last
        guard step.isDone else { return }
        lastFailure = nil
        if quietCount > 0 { log.notice(.storeQuietResolved, ["issues": "\(quietCount)"]) }
    }

    /// Performs the next step of removing records.
    private mutating func removeRecords(_ writer: StoreWriter, at now: MonotonicInstant) throws(StoreFailure) {
        guard var current = expiry else { return }
        let progress: ExpiryProgress
        switch current.part {
        case .range(let range): progress = try writer.forget(range)
        case .selected(var thinning, let cause):
            progress = try writer.thin(&thinning)
            current.part = .selected(thinning, cause)
        }
        current.records += progress.records
        current.expired += progress.expired
        expiry = progress.isDone ? nil : current
        guard progress.isDone else { return }
        lastFailure = nil
        hasUnreferencedRows = true
        unreferenced?.add(current.unreferenced)
        nextCheck = now
        // Nothing is logged if all records of the range had been removed before.
        guard current.records > 0 || current.expired > 0 else { return }
        var kind = RemovalKind(reason: current.reason, isLoss: current.expired > 0)
        if case .selected(_, .user(let uid)) = current.part { kind.uid = uid }
        logRemoval(kind, records: Int(current.records), expired: Int(current.expired), at: now)
    }

    /// Counts a removal, and logs the removals of this kind that are not logged yet, at most once a minute.
    private mutating func logRemoval(_ kind: RemovalKind, records: Int = 0, expired: Int = 0, at now: MonotonicInstant)
    {
        var counters = unlogged[kind] ?? (RepeatedEventCounter(), RepeatedEventCounter())
        let (records, expired) = (
            counters.records.happened(records, at: now), counters.expired.happened(expired, at: now)
        )
        unlogged[kind] = counters
        guard let records, let expired else { return }
        guard records > 0 || expired > 0 else { return unlogged[kind] = nil }
        // At least one destination has not received the expired records, so they cause a warning.
        let level: LogLevel = kind.isLoss ? .warning : kind.reason == .age ? .info : .notice
        let uid = kind.uid.map { "\($0)" }
        log.log(
            level, uid == nil ? .storeRecordsExpired : .storeRecordsThinned,
            present: ["reason": kind.reason.rawValue, "uid": uid, "records": "\(records)", "expired": "\(expired)"])
    }
}
