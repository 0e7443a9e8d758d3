import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// What the writer does beside its commits so that the store stays as small and as young as it is to be.
///
/// It does one small step between two commits, so that no report waits for more
/// than that, and gives room back to the disk only while nothing else is asked.
struct StoreMaintenance {
    private struct ExpiryRun {
        enum Part {
            case range(RetentionSnapshot.ClosedRange)
            case noisiest(Thinning)
        }

        var part: Part
        var reason: Retention.Reason
        var records: Int64 = 0
        var expired: Int64 = 0
    }

    private let folder: String
    private let removed: () -> Void
    private let log: Log
    private var forgetting: ExpiryRun?
    private var hasOldMarks = false
    private var isShrinking = false
    /// How long it may go on with further steps, since more comes in than is removed.
    private var turn = Duration.zero
    private var lookAt: MonotonicInstant
    private var marksAt: MonotonicInstant
    /// Not before then a mute is ended that is over.
    private var mutesAt: MonotonicInstant
    /// Whether something was removed to which what is left over may have belonged, and when to look for that.
    private var hasLeftOvers = false
    private var collectAt: MonotonicInstant
    private var lastFailure: StoreFailure?
    /// What was so when it looked last: with any of it changed it looks again.
    private var seen: (ranges: Int64, settings: RetentionSettings)?

    private static let markAge: Duration = .seconds(30 * 86_400)
    private static let markInterval: Duration = .seconds(3600)
    private static let pause: Duration = .seconds(60)
    private static let shortPause: Duration = .seconds(1)
    /// From so much on it is worth the work to give free pages back.
    private static let spareBytes: Int64 = 2 << 20
    private static let pagesAtATime: Int64 = 64
    private static let turn: Duration = .milliseconds(4)
    private static let longTurn: Duration = .milliseconds(10)

    init(folder: String, at now: MonotonicInstant, removed: @escaping () -> Void, log: Log) {
        self.folder = folder
        self.removed = removed
        collectAt = now
        self.log = log
        lookAt = now
        marksAt = now
        mutesAt = now
    }

    /// When it wants its next turn, if nothing else gives it one.
    func deadline(_ writer: StoreWriter) -> MonotonicInstant {
        let isBusy = forgetting != nil || hasOldMarks || isShrinking
        guard !isBusy else { return MonotonicInstant(sinceBoot: .zero) }
        guard let end = writer.nextMuteEnd else { return lookAt }
        let wall = Clock.wall
        let left = end > wall ? end.milliseconds - wall.milliseconds : 0
        return min(lookAt, max(mutesAt, Clock.monotonic.advanced(by: .milliseconds(left))))
    }

    /// Takes one step, if there is one to take.
    mutating func step(_ writer: StoreWriter, isIdle: Bool, at now: MonotonicInstant) throws(StoreFailure) {
        if forgetting != nil {
            repeat {
                try forget(writer, at: now)
            } while forgetting != nil && now.duration(to: Clock.monotonic) < turn
        } else if let end = writer.nextMuteEnd, end <= Clock.wall, now >= mutesAt {
            try writer.endMutes(at: Clock.wall)
            lastFailure = nil
        } else if now >= lookAt || seen?.ranges != writer.closedRanges || seen?.settings != writer.retention {
            try look(writer, at: now)
        } else if hasOldMarks {
            let oldest = writer.logTime(wall: Clock.wall, monotonic: now).advanced(by: .zero - Self.markAge)
            hasOldMarks = try writer.forgetMarks(before: oldest)
        } else if isShrinking, isIdle {
            isShrinking = try writer.shrink(pages: Self.pagesAtATime) > 0
            // The file becomes shorter when the log is copied.
            if !isShrinking { try writer.checkpoint() }
        }
    }

    /// A step has failed: what it was about waits.
    ///
    /// - Returns: whether that is worth a line; it is told once of many in a row.
    mutating func failed(by failure: StoreFailure, at now: MonotonicInstant) -> Bool {
        forgetting = nil
        hasOldMarks = false
        isShrinking = false
        // For want of space it may be done as soon as the log has begun anew.
        lookAt = now.advanced(by: failure == .noSpace ? Self.shortPause : Self.pause)
        mutesAt = lookAt
        defer { lastFailure = failure }
        return failure != lastFailure
    }

    /// A report found no space: whether something can be removed is looked at soon.
    mutating func lackedSpace(at now: MonotonicInstant) {
        lookAt = min(lookAt, now.advanced(by: Self.shortPause))
    }

    private mutating func look(_ writer: StoreWriter, at now: MonotonicInstant) throws(StoreFailure) {
        seen = (writer.closedRanges, writer.retention)
        try writer.secureGrowth()
        let free = (try? FileSystem.freeBytes(at: folder)).map { Int64(clamping: $0) }
        let facts = try writer.retentionFacts(freeBytes: free, wall: Clock.wall, monotonic: now)
        isShrinking = facts.spareBytes >= Self.spareBytes
        let excess = facts.usedBytes - writer.retention.maxSize
        turn =
            excess > writer.retention.maxSize / 4
            ? Self.longTurn : excess > writer.retention.maxSize / 16 ? Self.turn : .zero
        if hasLeftOvers, now >= collectAt {
            hasLeftOvers = false
            collectAt = now.advanced(by: Self.markInterval)
            removed()
        }
        if now >= marksAt {
            hasOldMarks = true
            marksAt = now.advanced(by: Self.markInterval)
        }
        switch Retention(settings: writer.retention).next(facts) {
        case .forget(let range, let reason): forgetting = ExpiryRun(part: .range(range), reason: reason)
        case .thin(let holding, let reason):
            let thinning = try writer.planThinning(of: holding.range, user: holding.user)
            forgetting = ExpiryRun(
                part: thinning.isWhole ? .range(holding.range) : .noisiest(thinning), reason: reason)
        case .closeRange: try writer.closeOpenRange()
        case .rest(let wait): lookAt = now.advanced(by: wait)
        }
    }

    private mutating func forget(_ writer: StoreWriter, at now: MonotonicInstant) throws(StoreFailure) {
        guard var current = forgetting else { return }
        let progress: ExpiryProgress
        switch current.part {
        case .range(let range): progress = try writer.forget(range)
        case .noisiest(var thinning):
            progress = try writer.thin(&thinning)
            current.part = .noisiest(thinning)
        }
        current.records += progress.records
        current.expired += progress.expired
        forgetting = progress.isDone ? nil : current
        guard progress.isDone else { return }
        lastFailure = nil
        hasLeftOvers = true
        lookAt = now
        tell(current)
    }

    private func tell(_ forgotten: ExpiryRun) {
        // A range of which retention had taken all before.
        guard forgotten.records > 0 || forgotten.expired > 0 else { return }
        var level = LogLevel.notice
        if forgotten.reason == .age { level = .info }
        // That is what nobody will be told of.
        if forgotten.expired > 0 { level = .warning }
        let (records, expired) = (forgotten.records, forgotten.expired)
        switch forgotten.part {
        case .range:
            log.log(
                level, "Removed the oldest records",
                ["reason": forgotten.reason.rawValue, "records": "\(records)", "expired": "\(expired)"])
        case .noisiest(let thinning):
            log.log(
                level, "Removed old records of the most frequent issues",
                [
                    "reason": forgotten.reason.rawValue, "uid": "\(thinning.user)", "records": "\(records)",
                    "expired": "\(expired)",
                ])
        }
    }
}
