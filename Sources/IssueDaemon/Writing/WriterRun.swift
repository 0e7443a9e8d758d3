import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// One run of the writer thread with an open file, and the state of that run.
///
/// Used only by the writer thread. Each pass of the loop takes the work that has arrived and performs the same steps:
/// check that the file is still usable, keep the WAL short, run tasks, commit, and then checkpoint or maintain the
/// file.
final class WriterRun {
    private let inbox: Monitor<WriterInbox>
    private let gate: ReaderGate
    private let snapshots: SnapshotGate
    private let opening: StoreOpening
    private let log: Log
    private let writer: StoreWriter
    private let callbacks: WriterService.Callbacks
    private let files: StoreOpening.Files

    /// Submissions that did not fit into a commit yet.
    private var backlog: FairQueue<Submission>
    private var pace: CommitSizePolicy
    /// For each connection with a refused call, the gate that refuses later calls.
    private var gates: [UInt64: (gate: NumberGate, refusedAt: MonotonicInstant)] = [:]
    /// If there are more gates than this, those whose last refusal is older than `gateTime` are removed. Gates are left
    /// over when a connection is closed without resending the refused call.
    private var maxGates = minGates
    /// The minimum of `maxGates`.
    private static let minGates = 8192
    /// The assumed maximum time between a refusal and the arrival of calls that were sent before the refusal was known.
    private static let gateTime: Duration = .seconds(60)
    private var lastEnd = CommitEnd.stored
    /// The beginning of the current interval for the log, and the number of failures that were logged in it.
    private var logged: (since: MonotonicInstant, failures: Int)
    /// The failure that was logged and has not ended, so that its end must be logged, too; nil if there is none.
    private var loggedRefusal: StoreFailure?
    private static let logInterval: Duration = .seconds(60)
    private static let maxLoggedFailures = 5
    /// Whether the WAL was removed or replaced. Reports are then refused, and the open WAL is copied into the database.
    private var isWALRemoved = false
    /// The earliest time of the next attempt to copy the removed WAL, and whether the first attempt was logged.
    private var nextRescue: MonotonicInstant
    private var wasRescueLogged = false
    private static let rescueInterval: Duration = .milliseconds(250)
    /// When an idle writer next checks whether the WAL is still at its path.
    private var nextFileCheck: MonotonicInstant
    private static let fileCheckInterval: Duration = .seconds(10)
    /// The earliest time of the next check whether reports can be stored again.
    private var nextWritingCheck: MonotonicInstant
    private static let writingCheckInterval: Duration = .seconds(2)
    /// Whether the file is no longer written to, because it was moved aside or replaced, or must be opened again.
    /// Reports are then refused.
    private var isAbandoned = false

    private var checkpoints: CheckpointPolicy
    /// Whether the gate was closed for a checkpoint that has not been possible yet.
    private var isGateClosed = false
    /// The error of the last checkpoint; nil if there was no error.
    private var checkpointFailure: StoreFailure?
    private var relief: WALRelief
    private var maintenance: StoreMaintenance
    /// Tries again to add damaged blocks to the table `damaged_blocks`, if that failed before.
    private let storeDamage: (StoreWriter) -> Void
    /// The time of the next attempt.
    private var nextDamageAttempt: MonotonicInstant
    /// How long to wait for snapshots to end before each attempt to copy a removed WAL.
    private static let snapshotTimeout: Duration = .seconds(2)
    private static let damageInterval: Duration = .seconds(10)

    init(_ service: WriterService, _ writer: StoreWriter, _ callbacks: WriterService.Callbacks) {
        inbox = service.inbox
        gate = service.gate
        snapshots = service.snapshots
        opening = service.opening
        log = service.log
        self.writer = writer
        self.callbacks = callbacks
        files = opening.files
        backlog = FairQueue(
            userQuantum: WriterService.userQuantum, connectionQuantum: WriterService.connectionQuantum)
        pace = CommitSizePolicy(bulk: WriterService.maxRecords, shared: WriterService.sharedRecords)
        let disk = writer.retention.disk
        checkpoints = CheckpointPolicy(pages: max(1, Int(disk.checkpointBytes / writer.pageBytes)))
        relief = WALRelief(
            service.snapshots, normal: WALLimits(pageBytes: writer.pageBytes, maxBytes: disk.maxWALBytes),
            duringBackup: WALLimits(pageBytes: writer.pageBytes, maxBytes: disk.maxWALBytesDuringBackup), log: log)
        let now = Clock.monotonic
        maintenance = StoreMaintenance(
            folder: FileSystem.parentFolder(of: opening.path), removed: callbacks.removed, log: log)
        maintenance.onKeepFree = callbacks.keepFreeUnreachable
        storeDamage = { service.storeDamage($0) }
        nextDamageAttempt = now.advanced(by: Self.damageInterval)
        (nextWritingCheck, nextRescue, nextFileCheck) = (now, now, now)
        logged = (now, 0)
    }

    /// Stores submissions until the writer is stopped. Refuses them once the file is abandoned.
    func run() {
        // The WAL of the last run may use the space that the first commit needs.
        checkpoint(restarts: true)
        // Otherwise, a full disk would be noticed only when the first report is refused.
        do throws(StoreFailure) {
            try writer.secureGrowth(mayUseReserve: false)
        } catch {
            if error == .noSpace { ended(.refused(error)) }
        }
        while let work = nextWork() {
            perform(work)
            inbox.withLock { work.isEmpty ? $0.dropSpares() : $0.keepSpares(of: work.submissions) }
        }
        // Without reports and tasks, `checkFiles` ignores a removed database.
        if !isAbandoned, !opening.isDatabaseAtPath(files) { log.error(.storeReplaced) }
        guard isWALRemoved else {
            if !isAbandoned { checkpoint() }
            return
        }
        // The WAL may have been copied only in part, and tasks may have added to it since.
        if !checkpoint(restarts: true) { opening.lock.commitsWereLost(at: Clock.wall) }
    }

    private func perform(_ work: WriterInbox) {
        checkFiles(before: work)
        // Reports are refused while the WAL is too large or removed.
        let mayCommit =
            isAbandoned
            || !isWALRemoved
                && relief.relieve(writer, wantsCommit: !work.isEmpty) { checkpoint(restarts: true) }
        for task in work.tasks { task(isAbandoned ? nil : writer) }
        if isWALRemoved, !isAbandoned { rescueWAL() }
        store(work.submissions, mayCommit: mayCommit)
        if !isAbandoned, !isWALRemoved { maintain(isIdle: work.isEmpty) }
        checkWriting(isPossible: mayCommit && work.submissions.isEmpty)
    }

    /// After a failure, finds out whether reports can be stored again. Without this, the failure would be shown until
    /// the next report is stored.
    ///
    /// - Parameter isPossible: `false` to wait for the next interval.
    private func checkWriting(isPossible: Bool) {
        let now = Clock.monotonic
        guard !isAbandoned, lastEnd != .stored, nextWritingCheck <= now else { return }
        nextWritingCheck = now.advanced(by: Self.writingCheckInterval)
        guard isPossible else { return }
        do throws(StoreFailure) {
            try opening.checkFileSystem()
            try writer.checkWriting()
            changed(to: .stored)
            lastEnd = .stored
        } catch {
            if error.isDamage { return setAside(error) }
            if case .refused(let failure) = lastEnd { logRefusal(failure) }
        }
    }

    /// Checks whether the database and its WAL are still at their paths, and notes if the WAL is not.
    ///
    /// If the database is not at its path, abandons it once reports, tasks or a report of damage arrive. If both files
    /// are at their paths, abandons a database that was reported as damaged.
    private func checkFiles(before work: WriterInbox) {
        guard !isAbandoned else { return }
        nextFileCheck = Clock.monotonic.advanced(by: Self.fileCheckInterval)
        if !opening.isDatabaseAtPath(files) {
            // Without reports and tasks, nothing can be lost in the old file.
            guard !work.isEmpty || work.corruptionReport != nil else { return }
            log.error(.storeReplaced)
            opening.lock.commitsWereLost(at: Clock.wall)
            abandon()
        } else if isWALRemoved || !opening.isWALAtPath(files) {
            isWALRemoved = true
        } else if let damage = work.corruptionReport {
            setAside(damage)
        }
    }

    /// Copies a removed or replaced WAL into the database, which is possible as long as the WAL is open. If only a part
    /// was copied, for example because another program reads the database, a later call tries again.
    private func rescueWAL() {
        let now = Clock.monotonic
        guard nextRescue <= now else { return }
        if !snapshots.close(interrupting: true) { _ = snapshots.waitUntilEmpty(timeout: Self.snapshotTimeout) }
        let isComplete = checkpoint(restarts: true)
        if isComplete || !wasRescueLogged {
            log.error(.storeWALRemoved, ["copied": isComplete ? "all of it" : "in part"])
        }
        wasRescueLogged = true
        nextRescue = Clock.monotonic.advanced(by: Self.rescueInterval)
        if isComplete {
            if !opening.isDatabaseAtPath(files) { opening.lock.commitsWereLost(at: Clock.wall) }
            if lastEnd != .stored { changed(to: .stored) }
            abandon()
        } else if let failure = checkpointFailure, failure.isDamage {
            opening.lock.commitsWereLost(at: Clock.wall)
            isWALRemoved = false
            setAside(failure)
        } else if lastEnd == .stored {
            lastEnd = .refused(.walRemoved)
            changed(to: lastEnd)
        }
    }

    /// Commits or refuses submissions, and reacts to the result.
    private func store(_ submissions: [Submission], mayCommit: Bool) {
        if isAbandoned { return refuse(submissions, .busy(retryAfter: .milliseconds(100))) }
        guard !submissions.isEmpty else { return }
        ended(mayCommit ? commit(submissions) : refuseForWAL(submissions))
    }

    /// Reacts to the result of a commit, or of the check for space at the start.
    private func ended(_ end: CommitEnd) {
        if end != lastEnd { changed(to: end) }
        lastEnd = end
        switch end {
        case .stored: break
        case .refused(.noSpace):
            checkpoints.diskWasFull()
            maintenance.diskWasFull(at: Clock.monotonic)
        case .refused: break
        case .damaged(let damage): setAside(damage)
        }
    }

    /// Waits for work or until `deadline`. Returns all waiting tasks, and the submissions for one commit; nil if the
    /// writer must end.
    private func nextWork() -> WriterInbox? {
        if backlog.isEmpty { waitForWork(until: isAbandoned ? nil : deadline) }
        let isDone = backlog.isEmpty
        guard var work = inbox.withLock({ $0.take(isDone: isDone) }) else { return nil }
        let now = Clock.monotonic
        for submission in work.submissions {
            let (cost, connection) = (writer.cost(of: submission), submission.process.connection)
            pace.arrived(cost, connection: connection, at: now)
            backlog.append(submission, cost: cost, user: submission.process.accountableUser, connection: connection)
        }
        work.submissions = backlog.take(upTo: pace.limit(at: now))
        return work
    }

    /// When the next maintenance or check is due.
    private var deadline: MonotonicInstant {
        if isWALRemoved { return nextRescue }
        let deadline = min(maintenance.deadline(writer), nextFileCheck)
        return lastEnd == .stored ? deadline : min(deadline, nextWritingCheck)
    }

    private func waitForWork(until deadline: MonotonicInstant?) {
        let isLight = inbox.wait(
            deadline: deadline.map { Clock.kernel($0) },
            until: { inbox -> Bool? in
                if inbox.isEmpty { return inbox.isStopping || inbox.isCorrupt ? false : nil }
                return inbox.recordCount < WriterService.enoughRecords && inbox.tasks.isEmpty && !inbox.isStopping
            })
        if isLight == true {
            _ = inbox.wait(deadline: MonotonicClock.now.advanced(by: WriterService.gatheringTime)) { inbox -> Bool? in
                inbox.recordCount >= WriterService.enoughRecords || !inbox.tasks.isEmpty || inbox.isStopping
                    ? true : nil
            }
        }
    }

    /// The result of a commit.
    private enum CommitEnd: Equatable {
        case stored
        case refused(StoreFailure)
        case damaged(StoreFailure)
    }

    private func commit(_ submissions: [Submission]) -> CommitEnd {
        var submissions = submissions
        if !gates.isEmpty { callbacks.refused(refuseAfterGates(&submissions)) }
        do throws(StoreFailure) {
            // While the file system is read-only, no commit is tried. A commit that fails might have been stored, so
            // its reports could not be refused.
            if case .refused(.readOnly) = lastEnd { try opening.checkFileSystem() }
            callbacks.stored(try writer.commit(submissions, wall: Clock.wall, monotonic: Clock.monotonic))
            return .stored
        } catch {
            var answer: CollectorError? = error == .noSpace ? .noSpace : .busy(retryAfter: .seconds(1))
            // A commit whose result is unknown may be found in the WAL when the file is reopened. A refusal could cause
            // the reports to be sent and stored again.
            if error.isUncertain { answer = nil }
            refuse(submissions, answer)
            return error.isDamage ? .damaged(error) : .refused(cause(of: error))
        }
    }

    /// Returns the cause of an error of SQLite if that is a read-only file system; otherwise the error.
    private func cause(of error: StoreFailure) -> StoreFailure {
        guard case .failed = error else { return error }
        do throws(StoreFailure) {
            try opening.checkFileSystem()
            return error
        } catch {
            return error
        }
    }

    /// Refuses reports because the WAL must be copied or reset before anything is added to it.
    private func refuseForWAL(_ submissions: [Submission]) -> CommitEnd {
        let isFull = checkpointFailure == .noSpace
        refuse(submissions, isFull ? .noSpace : .busy(retryAfter: .milliseconds(250)))
        return .refused(isFull ? .noSpace : isWALRemoved ? .walRemoved : .walTooLarge)
    }

    /// Calls `callbacks.changed` and logs that storing reports fails or works again. Does nothing for damage. If
    /// failures and successes alternate, as on a nearly full disk, at most a few failures per minute are logged.
    private func changed(to end: CommitEnd) {
        switch end {
        case .stored:
            if loggedRefusal != nil { log.notice(.storeWritable) }
            loggedRefusal = nil
            callbacks.changed(nil)
        case .refused(let failure):
            callbacks.changed(failure)
            logRefusal(failure)
        case .damaged: break
        }
    }

    /// Logs why reports are refused, unless this reason was logged last and storing has not worked again since, or
    /// `maxLoggedFailures` failures were logged in this interval.
    private func logRefusal(_ failure: StoreFailure) {
        guard loggedRefusal != failure else { return }
        let now = Clock.monotonic
        if logged.since.duration(to: now) >= Self.logInterval { logged = (now, 0) }
        guard logged.failures < Self.maxLoggedFailures else { return }
        logged.failures += 1
        loggedRefusal = failure
        if failure == .noSpace {
            log.warning(.storeNoSpace)
        } else {
            log.error(.storeWriteFailed, ["error": "\(failure)"])
        }
    }

    /// Stops writing to the file, and moves it aside if it is damaged.
    private func setAside(_ damage: StoreFailure) {
        switch opening.verdict(on: damage) {
        case .confirmed:
            log.error(.storeDamaged)
            opening.setAside(log: log)
        case .healthy: log.warning(.storeReopened, ["checked": "all of it"])
        case .inconclusive: log.warning(.storeReopened, ["checked": "in part"])
        }
        abandon()
    }

    /// Stops writing to the file.
    private func abandon() {
        isAbandoned = true
        // Only tasks are rejected. Reports that arrive before the socket is closed are refused with an answer.
        inbox.withLock { $0.isClosed = true }
        callbacks.mustReopen()
    }

    private func refuse(_ submissions: [Submission], _ error: CollectorError?) {
        let refusals = submissions.flatMap { submission in
            submission.eachCall.map { Refusal($0, of: submission.process.connection, error) }
        }
        let now = Clock.monotonic
        for refusal in refusals {
            guard let sequence = refusal.sequence else { continue }
            gates[refusal.connection, default: (NumberGate(), now)].gate.refused(sequence)
            gates[refusal.connection]?.refusedAt = now
        }
        if gates.count > maxGates {
            gates = gates.filter { $0.value.refusedAt.duration(to: now) < Self.gateTime }
            maxGates = max(Self.minGates, 2 * gates.count)
        }
        callbacks.refused(refusals)
    }

    /// Removes calls that were sent before their sender could know that an earlier call was refused. Returns their
    /// refusals.
    private func refuseAfterGates(_ submissions: inout [Submission]) -> [Refusal] {
        var refusals: [Refusal] = []
        for index in submissions.indices {
            let connection = submissions[index].process.connection
            guard gates[connection] != nil else { continue }
            submissions[index].calls.removeAll { call in
                guard let sequence = call.numbering?.sequence, gates[connection]?.gate.accepts(sequence) == false
                else {
                    return false
                }
                // The numbers of all merged calls are above the refused one.
                refusals += call.each.map { Refusal($0, of: connection, .busy(retryAfter: .milliseconds(100))) }
                return true
            }
            if gates[connection]?.gate.isOpen == true { gates[connection] = nil }
        }
        return refusals
    }

    /// Checkpoints the WAL or performs a step of maintenance, but not both, because all reports wait meanwhile. Does
    /// nothing if a due checkpoint must wait for a commit.
    ///
    /// - Parameter isIdle: `true` if this pass has no reports and no tasks.
    private func maintain(isIdle: Bool) {
        let reportsWait = !backlog.isEmpty || inbox.withLock { !$0.submissions.isEmpty }
        switch checkpoints.next(walPages: writer.walPages, reportsWait: reportsWait) {
        case .commitFirst: break
        case .copy: checkpoint()
        case .restart where gate.close():
            // With long snapshots, resetting the WAL would delay all reports, perhaps without success.
            checkpoint(restarts: !snapshots.hasLongSnapshots)
            openGate()
        case .restart:
            isGateClosed = true
            // While the WAL can't be reset because of readers, there is time for maintenance.
            performUpkeep(isIdle: isIdle)
        case .none:
            // The WAL may have been reset since the gate was closed.
            if isGateClosed { openGate() }
            performUpkeep(isIdle: isIdle)
        }
    }

    private func openGate() {
        gate.open()
        isGateClosed = false
    }

    private func performUpkeep(isIdle: Bool) {
        let now = Clock.monotonic
        if nextDamageAttempt <= now {
            storeDamage(writer)
            nextDamageAttempt = now.advanced(by: Self.damageInterval)
        }
        do throws(StoreFailure) {
            // On a full disk, the free pages are needed although reports arrive.
            try maintenance.step(writer, isIdle: isIdle || lastEnd == .refused(.noSpace), at: now)
        } catch {
            if error.isDamage { return setAside(error) }
            if maintenance.failed(by: error, at: Clock.monotonic) {
                log.warning(.storeMaintenanceFailed, ["error": "\(error)"])
            }
            if error == .noSpace { checkpoints.diskWasFull() }
        }
    }

    /// Copies the WAL into the database. Of several equal errors in a row, logs only the first one.
    ///
    /// - Parameter restarts: `true` to wait briefly for readers, so that the WAL is also reset.
    /// - Returns: `true` if the whole WAL was copied and, with `restarts`, reset.
    @discardableResult
    private func checkpoint(restarts: Bool = false) -> Bool {
        // After an error, the checkpoint counts as complete, because an early retry would probably fail, too.
        var isComplete = true
        defer { checkpoints.copied(walPages: writer.walPages, isComplete: isComplete) }
        do throws(StoreFailure) {
            isComplete = try writer.checkpoint(restarts: restarts)
            checkpointFailure = nil
            return isComplete
        } catch {
            if error != checkpointFailure { log.warning(.storeCheckpointFailed, ["error": "\(error)"]) }
            checkpointFailure = error
            return false
        }
    }
}
