import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// The thread that writes to the store.
///
/// The reports that arrive during a commit go into the next one, up to a maximum size. Commits therefore grow with the
/// load, and a slow disk increases latency more than it reduces throughput. If few records arrive, a commit waits a
/// moment for more.
final class WriterService: Sendable {
    /// The callbacks of the writer. They are called on the writer thread.
    struct Callbacks: Sendable {
        /// Calls were stored and synced to disk. `SocketService.stored(_:)` makes the socket thread send the receipts,
        /// and `Destinations.recordsArrived()` makes the forwarding services read the new records.
        var stored: @Sendable ([CallOutcome]) -> Void
        /// Calls were not stored, or it is unknown whether they were. `SocketService.refused(_:)` then makes the
        /// socket thread send errors.
        var refused: @Sendable ([Refusal]) -> Void
        /// Reports can no longer be stored, for the given reason, or can be stored again (nil).
        var changed: @Sendable (StoreFailure?) -> Void
        /// The database is no longer written to and must be opened again, because it may be damaged or one of its files
        /// is no longer at its path.
        var mustReopen: @Sendable () -> Void
        /// Records were removed since the last call. Rows that are no longer referenced should now be removed, too.
        var removed: @Sendable () -> Void
        /// Whether other files fill the disk so much that no records are removed for `KeepFree=`. Called at each check.
        var keepFreeUnreachable: @Sendable (Bool) -> Void = { _ in }
    }

    let inbox = Monitor(WriterInbox())
    let gate = ReaderGate()
    /// Blocks or interrupts the readers' snapshots of the database, so that the WAL can be reset.
    let snapshots: SnapshotGate
    /// Enqueues a task that adds a damaged block to `damaged_blocks` and logs it. May be called on any thread, several
    /// times for the same block.
    let noteDamage: @Sendable (DamagedBlock) -> Void
    /// Damaged blocks that could not be added to `damaged_blocks`, by the lowest row id in each.
    private let unstoredDamage = Monitor<[RowID: DamagedBlock]>([:])
    /// The number of records in the blocks of `unstoredDamage`.
    var unstoredDamagedRecords: Int64 { unstoredDamage.withLock { $0.values.reduce(0) { $0 + $1.records } } }
    let opening: StoreOpening
    let log: Log

    /// The cost (`ReportCost`) at which a commit is full, so that receipts do not wait too long. The last submission in
    /// a commit may exceed it. A typical record costs 1.
    static let maxRecords = 8192
    /// Replaces `maxRecords` while low-volume senders are active, because they would wait for large commits.
    static let sharedRecords = 2048
    /// The cost of the reports that a user, or one connection of a user, may add before others get their turn.
    static let userQuantum = 512
    static let connectionQuantum = 128
    /// The number of records at which a commit starts without waiting for more.
    static let enoughRecords = 2048
    /// How long a commit with fewer records waits for more.
    static let gatheringTime: Duration = .microseconds(700)

    init(opening: StoreOpening, log: Log) {
        (self.opening, self.log) = (opening, log)
        let (inbox, unstored) = (inbox, unstoredDamage)
        noteDamage = { block in
            inbox.append(task: { writer in
                guard let writer else { return }
                let first = block.rows.lowerBound
                var isNew = unstored.withLock { $0[first] == nil }
                do throws(StoreFailure) {
                    isNew = try writer.note(block) && isNew
                    unstored.withLock { $0[first] = nil }
                } catch {
                    // Each reader reports a block once, so the block is remembered here.
                    unstored.withLock { $0[first] = block }
                }
                guard isNew else { return }
                log.error(.storeBlockDamaged, ["first": "\(first)", "records": "\(block.records)"])
            })
        }
        // The writer may be waiting for the last snapshot to end, with no other work that wakes it.
        snapshots = SnapshotGate(emptied: { inbox.append(task: { _ in }) }, found: noteDamage)
    }

    /// Returns a service that never runs, and so rejects all tasks.
    static func closed(path: String, log: Log) -> WriterService {
        let writer = WriterService(
            opening: StoreOpening(path: path, limits: LimitSettings(), retention: RetentionSettings()), log: log)
        writer.inbox.withLock { $0.isClosed = true }
        return writer
    }

    /// Tries again to add damaged blocks to `damaged_blocks`, if that failed before. Called on the writer thread.
    func storeDamage(_ writer: StoreWriter) {
        for (first, block) in unstoredDamage.withLock({ $0 }) {
            guard (try? writer.note(block)) != nil else { return }
            unstoredDamage.withLock { $0[first] = nil }
        }
    }

    /// Enqueues reports for a commit. Returns an empty batch for the reports that follow.
    func submit(_ submission: Submission) -> RecordBatch {
        let (mustWake, spare) = inbox.withLock { inbox in
            let wasEmpty = inbox.isEmpty
            inbox.submissions.append(submission)
            inbox.recordCount += submission.batch.records.count
            return (wasEmpty || inbox.recordCount >= Self.enoughRecords, inbox.takeSpare())
        }
        if mustWake { inbox.signal() }
        return spare
    }

    /// Runs `work` on the writer thread between two commits, and returns its result.
    ///
    /// Blocks the calling thread. Must not be called on the writer thread.
    ///
    /// - Throws: `WriterClosed` if the writer has stopped or given up the file, or the error that `work` throws.
    func perform<Value: Sendable>(
        _ work: @escaping @Sendable (StoreWriter) throws -> Value
    ) throws -> Value {
        let answer = Monitor<Result<Value, any Error>?>(nil)
        let isTaken = inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.tasks.append { writer in
                let result = Result {
                    guard let writer else { throw WriterClosed() }
                    return try work(writer)
                }
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

    /// Runs `work` on the writer thread if no thread is in `readingRecordLog(_:)`. Blocks the calling thread.
    ///
    /// - Returns: The result of `work`; nil, without running it, if a thread is in `readingRecordLog(_:)`. Each new
    ///   reader then waits for at most a second or until `admitReaders()` is called, so that a later call can succeed.
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

    /// Lets new readers continue after `runExclusively(_:)` has returned nil.
    func admitReaders() {
        gate.open()
    }

    /// Runs `body`, which reads the record log in long snapshots. If the writer is waiting until no such reader is
    /// left, this call first waits for at most a second.
    func readingRecordLog<Value>(_ body: () throws -> Value) rethrows -> Value {
        gate.enter()
        // The writer may be waiting for the last reader to leave, with no other work that wakes it.
        defer { if gate.leave() { enqueue {} } }
        return try body()
    }

    /// Enqueues `work` for the writer thread and returns immediately. Does nothing if the writer has stopped or given
    /// up the file.
    func enqueue(_ work: @escaping @Sendable () -> Void) {
        inbox.append(task: { _ in work() })
    }

    /// Tells the writer that the database may be damaged.
    ///
    /// The writer checks the file and stops writing to it. If the check confirms the damage, the writer moves the file
    /// aside, and its next run creates a new one. Otherwise, its next run opens the same file again.
    func reportCorruption(_ damage: StoreFailure) {
        inbox.withLock { $0.corruptionReport = damage }
        inbox.signal()
    }

    /// Returns `true` if a reader must open the database again after an error. Reports the error if it is damage.
    func mustReopen(after error: any Error) -> Bool {
        guard let failure = error as? StoreFailure else { return false }
        if failure.isDamage { reportCorruption(failure) }
        if case .failed = failure {
            // Wakes the writer, which checks whether the WAL was removed.
            enqueue {}
            return true
        }
        return failure.isDamage
    }

    /// Stops the thread after all submitted reports were stored or refused. Returns immediately.
    func stop() {
        inbox.withLock { $0.isStopping = true }
        inbox.signal()
    }

    /// Opens the store, and runs the writer until it is stopped.
    ///
    /// - Parameters:
    ///   - callbacks: The callbacks for the results of commits.
    ///   - started: Called once with the open store, or with the error that prevented opening it.
    func run(_ callbacks: Callbacks, started: (Result<StoreWriter, StoreFailure>) -> Void) {
        let writer: StoreWriter
        do throws(StoreFailure) {
            writer = try opening.open(log: log)
        } catch {
            inbox.withLock { $0.isClosed = true }
            started(.failure(error))
            return
        }
        writer.onDamagedBlock = noteDamage
        started(.success(writer))
        // If this fails, blocks that can be read again count as damaged until the next start.
        try? writer.recheckDamagedBlocks()
        defer {
            gate.open()
            snapshots.open()
        }
        WriterRun(self, writer, callbacks).run()
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

/// The error of a task that could not run, because the writer had stopped or given up the file.
struct WriterClosed: Error, CustomStringConvertible {
    var description: String { "the store is closed" }
}

/// A call that was not stored or may not have been stored, and the error to answer it with.
struct Refusal: Sendable {
    var connection: UInt64
    var token: UInt64
    /// The sequence number of the call's first record; nil if the client does not number its records. Until this number
    /// or a lower one arrives, calls of the same connection with higher numbers must be refused, too.
    var sequence: Int64?
    /// The number of records in the call, without those that were rejected.
    var records = 1
    /// nil if the call may have been stored. It is then not answered, and its connection is closed.
    var error: CollectorError?
}

extension Refusal {
    init(_ call: ReportCall, of connection: UInt64, _ error: CollectorError?) {
        self.init(
            connection: connection, token: call.token, sequence: call.numbering?.sequence,
            records: call.records.count, error: error)
    }
}

/// The queue of the writer: reports, and tasks to run between two commits.
struct WriterInbox: Sendable {
    /// A task that only the writer thread may run. It receives nil if the writer has given up the file.
    typealias WriterTask = @Sendable (StoreWriter?) -> Void

    var submissions: [Submission] = []
    var recordCount = 0
    var tasks: [WriterTask] = []
    /// Batches of earlier commits, kept to reuse their memory.
    private var spares: [RecordBatch] = []
    var isStopping = false
    /// Damage of the file that another thread has detected.
    var corruptionReport: StoreFailure?
    /// Whether new tasks are rejected. Reports may still arrive.
    var isClosed = false

    private var spareBytes = 0

    /// The maximum total capacity of the spare batches, in bytes. It is enough for full load.
    private static let maxSpareBytes = 8 << 20
    /// The maximum capacity of one spare batch, in bytes.
    private static let maxBytesOfSpare = 1 << 20

    var isCorrupt: Bool { corruptionReport != nil }
    var isEmpty: Bool { submissions.isEmpty && tasks.isEmpty }

    /// Returns an empty batch, usually one with memory that was used before.
    mutating func takeSpare() -> RecordBatch {
        guard var batch = spares.popLast() else { return RecordBatch() }
        spareBytes -= batch.bytes.capacity
        batch.clear()
        return batch
    }

    /// Keeps the batches of processed submissions for reuse, up to a total capacity.
    mutating func keepSpares(of submissions: [Submission]) {
        for submission in submissions {
            let bytes = submission.batch.bytes.capacity
            guard bytes <= Self.maxBytesOfSpare, spareBytes + bytes <= Self.maxSpareBytes else { continue }
            spares.append(submission.batch)
            spareBytes += bytes
        }
    }

    /// Frees the memory of the spare batches.
    mutating func dropSpares() {
        spares = []
        spareBytes = 0
    }

    /// Takes everything except the spare batches; returns nil if the writer must end.
    ///
    /// - Parameter isDone: `true` if everything that was taken before has been processed.
    mutating func take(isDone: Bool) -> WriterInbox? {
        if isEmpty, isDone, isStopping, !isCorrupt {
            isClosed = true
            return nil
        }
        var work = self
        work.dropSpares()
        (submissions, recordCount, tasks, corruptionReport) = ([], 0, [], nil)
        return work
    }
}
