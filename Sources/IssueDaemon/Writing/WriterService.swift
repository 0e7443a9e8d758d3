import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// The thread that writes to the store.
///
/// Everything that arrives during a commit goes into the next one. So batches
/// grow with the load: a slow disk increases latency but does not reduce
/// throughput. If little arrives, a commit waits a moment for more.
final class WriterService: Sendable {
    /// The callbacks of the writer. They are called on the writer thread.
    struct Listener: Sendable {
        var stored: @Sendable ([CallOutcome]) -> Void
        var refused: @Sendable ([Refusal]) -> Void
        /// Reports can be stored again (nil), or no longer for the given reason.
        var changed: @Sendable (StoreFailure?) -> Void
        /// The file is damaged and no longer written to.
        var damaged: @Sendable () -> Void
        /// Records were removed, and possibly the last record of a group or
        /// series.
        var removed: @Sendable () -> Void
    }

    private let inbox = Monitor(WriterInbox())
    private let gate = ReaderGate()
    /// All snapshots of the database, of all threads.
    let snapshots: SnapshotGate
    private let opening: StoreOpening
    private let log: Log

    /// The maximum number of records in a commit, which its last submission may
    /// exceed. It keeps receipts from waiting too long.
    static let maxRecords = 8192
    /// The maximum while low-volume senders are active, which would wait for
    /// the commit.
    static let sharedRecords = 2048
    /// The number of records that a user, and each connection of a user, adds
    /// before others get their turn.
    static let userQuantum = 512
    static let connectionQuantum = 128
    /// The number of records for which a commit starts without waiting for
    /// more.
    static let enoughRecords = 128
    static let gathering: Duration = .microseconds(600)
    /// The number of WAL pages that triggers a checkpoint: 4 MiB with 8 KiB
    /// pages. All reports wait during a checkpoint.
    static let walPages = 512

    init(opening: StoreOpening, log: Log) {
        self.opening = opening
        self.log = log
        let inbox = inbox
        // The writer waits for the last snapshot to end, and may have no other
        // work that wakes it.
        snapshots = SnapshotGate(emptied: { inbox.append(task: { _ in }) })
    }

    /// Submits reports for the next commit. Returns an empty batch for the
    /// reports that follow.
    func submit(_ submission: Submission) -> RecordBatch {
        let (isNews, spare) = inbox.withLock { inbox in
            let wasEmpty = inbox.isEmpty
            inbox.submissions.append(submission)
            inbox.recordCount += submission.batch.records.count
            return (wasEmpty || inbox.recordCount >= Self.enoughRecords, inbox.takeSpare())
        }
        if isNews { inbox.signal() }
        return spare
    }

    /// Runs `work` on the writer thread between two commits, and returns its
    /// result.
    ///
    /// Blocks the calling thread. Must not be called on the writer thread.
    ///
    /// - Throws: `WriterClosed` if the writer has stopped, or the error that
    ///   `work` throws.
    func perform<Value: Sendable>(
        _ work: @escaping @Sendable (StoreWriter) throws -> Value
    ) throws -> Value {
        let answer = Monitor<Result<Value, any Error>?>(nil)
        let isTaken = inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.tasks.append { writer in
                let result = Result { try work(writer) }
                answer.withLock { $0 = result }
                answer.signal()
            }
            return true
        }
        guard isTaken else { throw WriterClosed() }
        inbox.signal()
        guard let result = answer.wait(until: { $0 }) else {
            preconditionFailure("A wait without a deadline returned without a value")
        }
        return try result.get()
    }

    /// Runs `work` on the writer thread while no thread reads the record log at
    /// length.
    ///
    /// - Returns: nil if a thread does. No other thread can then start until
    ///   the next call or `admitReaders()`.
    func runExclusively<Value: Sendable>(
        _ work: @escaping @Sendable (StoreWriter) throws -> Value
    ) throws -> Value? {
        let gate = gate
        return try perform { writer in
            guard gate.close() else { return nil }
            defer { gate.open() }
            return try work(writer)
        }
    }

    /// Allows long reads again after `runExclusively(_:)`.
    func admitReaders() {
        gate.open()
    }

    /// Runs `body`, which reads the record log in long snapshots. Waits first
    /// if the writer needs to reset the WAL.
    func readingRecordLog<Value>(_ body: () throws -> Value) rethrows -> Value {
        gate.enter()
        // The writer waits for the last reader to leave, and may have no other
        // work that wakes it.
        defer { if gate.leave() { nudge {} } }
        return try body()
    }

    /// Enqueues `work` for the writer thread and returns immediately.
    func nudge(_ work: @escaping @Sendable () -> Void) {
        inbox.append(task: { _ in work() })
    }

    /// Tells the writer that the database may be damaged.
    ///
    /// The writer checks the file. If it is damaged, the writer moves it aside,
    /// and the next run continues with a new one.
    func reportCorruption(_ damage: StoreFailure) {
        inbox.withLock { $0.corruptionReport = damage }
        inbox.signal()
    }

    /// Stops the thread after all submitted reports are stored. Returns
    /// immediately.
    func stop() {
        inbox.withLock { $0.isStopping = true }
        inbox.signal()
    }

    /// Runs the writer until it is stopped or the file is damaged.
    ///
    /// - Parameters:
    ///   - listener: The callbacks for the results of commits.
    ///   - started: Called once with the open store, or with the error that
    ///     prevented opening it.
    func run(_ listener: Listener, started: (Result<StoreWriter, StoreFailure>) -> Void) {
        let writer: StoreWriter
        do throws(StoreFailure) {
            writer = try opening.open(log: log)
        } catch {
            inbox.withLock { $0.isClosed = true }
            started(.failure(error))
            return
        }
        let file = opening.file
        started(.success(writer))
        defer {
            gate.open()
            snapshots.open()
        }
        var gates: [UInt64: NumberGate] = [:]
        // After the file was moved aside, nothing more may be acknowledged from
        // it.
        var isSetAside = false
        var lastEnd = CommitEnd.stored
        var backlog = FairQueue<Submission>(userQuantum: Self.userQuantum, connectionQuantum: Self.connectionQuantum)
        var pace = CommitSizePolicy(most: Self.maxRecords, shared: Self.sharedRecords)
        var checkpoints = CheckpointPolicy(pages: Self.walPages)
        var relief = WALRelief(
            snapshots, usual: WALLimits(pageBytes: writer.pageBytes),
            duringBackup: WALLimits(pageBytes: writer.pageBytes, maxBytes: WALLimits.maxBytesDuringBackup), log: log)
        // The WAL of the last run may use the space that the first commit
        // needs.
        var copyFailure = checkpoint(writer, &checkpoints, after: nil, restarts: true)
        var upkeep = StoreMaintenance(
            folder: FileSystem.parentFolder(of: opening.path), at: Clock.monotonic, removed: listener.removed, log: log)
        while let work = nextWork(writer, &backlog, &pace, until: isSetAside ? nil : upkeep.deadline(writer)) {
            defer { inbox.withLock { work.isEmpty ? $0.dropSpares() : $0.keepSpares(of: work.submissions) } }
            if let damage = work.corruptionReport, !isSetAside {
                setAside(damage, listener)
                isSetAside = true
            } else if !isSetAside, !work.submissions.isEmpty, !opening.isStillAtPath(file) {
                log.error(.storeReplaced)
                abandon(listener)
                isSetAside = true
            }
            let mayCommit =
                isSetAside
                || relief.relieve(writer, wantsCommit: !work.isEmpty) {
                    copyFailure = checkpoint(writer, &checkpoints, after: copyFailure, restarts: true)
                }
            for task in work.tasks { task(writer) }
            if isSetAside {
                refuse(work.submissions, .busy(retryAfter: .milliseconds(100)), &gates, listener)
            } else if !work.submissions.isEmpty {
                let end =
                    mayCommit
                    ? commit(work.submissions, writer, &gates, listener)
                    : refuseForWAL(work.submissions, copyFailure, &gates, listener)
                if end != lastEnd { changed(to: end, listener) }
                lastEnd = end
                if end == .refused(.noSpace) {
                    checkpoints.diskWasFull()
                    upkeep.diskWasFull(at: Clock.monotonic)
                }
                if case .damaged(let damage) = end {
                    setAside(damage, listener)
                    isSetAside = true
                }
            }
            guard !isSetAside else { continue }
            // Either a checkpoint or maintenance, because all reports wait
            // meanwhile.
            switch checkpoints.next(walPages: writer.walPages) {
            case .copy: copyFailure = checkpoint(writer, &checkpoints, after: copyFailure)
            case .restart where gate.close():
                copyFailure = checkpoint(writer, &checkpoints, after: copyFailure, restarts: true)
                gate.open()
            // While the WAL can't be reset because of readers, there is time
            // for maintenance.
            case .rest, .restart:
                guard let failure = take(&upkeep, writer, isIdle: work.isEmpty) else { continue }
                if failure == .noSpace {
                    checkpoints.diskWasFull()
                } else if failure.isDamage {
                    setAside(failure, listener)
                    isSetAside = true
                }
            }
        }
        if isSetAside { return }
        // Later tasks are rejected, so no thread waits for a result that never
        // comes.
        _ = checkpoint(writer, &checkpoints, after: copyFailure)
    }

    /// Waits for work or until the deadline, and takes what goes into one
    /// commit. Returns nil if the writer must end.
    private func nextWork(
        _ writer: StoreWriter, _ backlog: inout FairQueue<Submission>, _ pace: inout CommitSizePolicy,
        until deadline: MonotonicInstant?
    ) -> WriterInbox? {
        if backlog.isEmpty { waitForWork(until: deadline) }
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

    private func waitForWork(until deadline: MonotonicInstant?) {
        let isLight = inbox.wait(
            deadline: deadline.map { Clock.kernel($0) },
            until: { inbox -> Bool? in
                if inbox.isEmpty { return inbox.isStopping || inbox.isCorrupt ? false : nil }
                return inbox.recordCount < Self.enoughRecords && inbox.tasks.isEmpty && !inbox.isStopping
            })
        if isLight == true {
            _ = inbox.wait(deadline: MonotonicClock.now.advanced(by: Self.gathering)) { inbox -> Bool? in
                inbox.recordCount >= Self.enoughRecords || !inbox.tasks.isEmpty || inbox.isStopping ? true : nil
            }
        }
    }

    /// The result of a commit.
    private enum CommitEnd: Equatable {
        case stored
        case refused(StoreFailure)
        case damaged(StoreFailure)
    }

    private func commit(
        _ submissions: [Submission], _ writer: StoreWriter, _ gates: inout [UInt64: NumberGate],
        _ listener: Listener
    ) -> CommitEnd {
        var submissions = submissions
        if !gates.isEmpty { listener.refused(refuseAfterGates(&submissions, &gates)) }
        do throws(StoreFailure) {
            listener.stored(try writer.commit(submissions, wall: Clock.wall, monotonic: Clock.monotonic))
            return .stored
        } catch {
            var answer: CollectorError? = error == .noSpace ? .noSpace : .busy(retryAfter: .seconds(1))
            // A commit whose result is unknown may be found in the WAL when the
            // file is reopened. A refusal could cause the reports to be sent
            // and stored again.
            if error.isUncertain { answer = nil }
            refuse(submissions, answer, &gates, listener)
            return error.isDamage ? .damaged(error) : .refused(error)
        }
    }

    /// Refuses reports because the WAL must be reset before anything is added
    /// to it.
    private func refuseForWAL(
        _ submissions: [Submission], _ reason: StoreFailure?, _ gates: inout [UInt64: NumberGate],
        _ listener: Listener
    ) -> CommitEnd {
        let isFull = reason == .noSpace
        refuse(submissions, isFull ? .noSpace : .busy(retryAfter: .milliseconds(250)), &gates, listener)
        return .refused(isFull ? .noSpace : .walTooLarge)
    }

    /// Logs when storing reports begins to fail or works again, not once for
    /// each report.
    private func changed(to end: CommitEnd, _ listener: Listener) {
        switch end {
        case .stored:
            log.notice(.storeWritable)
            listener.changed(nil)
        case .refused(let failure):
            if failure == .noSpace {
                log.warning(.storeNoSpace)
            } else {
                log.error(.storeWriteFailed, ["error": "\(failure)"])
            }
            listener.changed(failure)
        case .damaged: break
        }
    }

    private func setAside(_ damage: StoreFailure, _ listener: Listener) {
        switch opening.verdict(on: damage) {
        case .confirmed:
            log.error(.storeDamaged)
            opening.setAside(log: log)
        case .healthy: log.warning(.storeReopened, ["checked": "all of it"])
        case .untold: log.warning(.storeReopened, ["checked": "in part"])
        }
        abandon(listener)
    }

    /// Stops writing to the file.
    private func abandon(_ listener: Listener) {
        // Reports are still refused with an answer until the socket has ended.
        inbox.withLock { $0.isClosed = true }
        listener.damaged()
    }

    private func refuse(
        _ submissions: [Submission], _ error: CollectorError?, _ gates: inout [UInt64: NumberGate], _ listener: Listener
    ) {
        var refusals: [Refusal] = []
        for submission in submissions {
            for call in submission.eachCall {
                refusals.append(refusal(of: call, submission.process.connection, error, &gates))
            }
        }
        listener.refused(refusals)
    }

    private func refusal(
        of call: ReportCall, _ connection: UInt64, _ error: CollectorError?, _ gates: inout [UInt64: NumberGate]
    ) -> Refusal {
        if let sequence = call.numbering?.sequence { gates[connection, default: NumberGate()].refused(sequence) }
        return Refusal(connection: connection, token: call.token, sequence: call.numbering?.sequence, error: error)
    }

    /// Removes calls that were sent before their sender could know that an
    /// earlier call was refused. Returns their refusals.
    private func refuseAfterGates(
        _ submissions: inout [Submission], _ gates: inout [UInt64: NumberGate]
    ) -> [Refusal] {
        var refusals: [Refusal] = []
        for index in submissions.indices {
            let connection = submissions[index].process.connection
            guard gates[connection] != nil else { continue }
            submissions[index].calls.removeAll { call in
                guard let sequence = call.numbering?.sequence,
                    gates[connection]?.arrived(sequence) == .refuse
                else { return false }
                // All calls above a refused number are refused.
                refusals += call.each.map {
                    Refusal(
                        connection: connection, token: $0.token, sequence: $0.numbering?.sequence,
                        error: .busy(retryAfter: .milliseconds(100)))
                }
                return true
            }
            if gates[connection]?.isOpen == true { gates[connection] = nil }
        }
        return refusals
    }

    /// Performs a step of maintenance. Returns the error if it has failed.
    private func take(_ upkeep: inout StoreMaintenance, _ writer: StoreWriter, isIdle: Bool) -> StoreFailure? {
        do throws(StoreFailure) {
            try upkeep.step(writer, isIdle: isIdle, at: Clock.monotonic)
            return nil
        } catch {
            if error.isDamage { return error }
            if upkeep.failed(by: error, at: Clock.monotonic) {
                log.warning(.storeMaintenanceFailed, ["error": "\(error)"])
            }
            return error
        }
    }

    /// Copies the WAL into the database. Returns the error if that has failed.
    /// An error that repeats is logged once.
    private func checkpoint(
        _ writer: StoreWriter, _ pace: inout CheckpointPolicy, after before: StoreFailure?, restarts: Bool = false
    ) -> StoreFailure? {
        defer { pace.copied(walPages: writer.walPages) }
        do throws(StoreFailure) {
            try writer.checkpoint(restarts: restarts)
            return nil
        } catch {
            if error != before {
                log.warning(.storeCheckpointFailed, ["error": "\(error)"])
            }
            return error
        }
    }
}

extension Monitor where State == WriterInbox {
    /// Enqueues work for the writer, unless the inbox is closed.
    fileprivate func append(task: @escaping WriterInbox.WriterTask) {
        withLock { inbox in
            if !inbox.isClosed { inbox.tasks.append(task) }
        }
        signal()
    }
}

/// The error of a task that was submitted after the writer stopped.
struct WriterClosed: Error, CustomStringConvertible {
    var description: String { "the store is closed" }
}

/// A call that was not stored, and the error to answer it with.
struct Refusal: Sendable {
    var connection: UInt64
    var token: UInt64
    /// The number of its first record, if it has one. Calls of the same
    /// connection with higher numbers must be refused, too.
    var sequence: Int64?
    /// nil if it is unknown whether the call is stored. Then it is not
    /// answered.
    var error: CollectorError?
}
