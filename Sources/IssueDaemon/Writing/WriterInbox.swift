import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// The queue of the writer: reports, and tasks to run between two commits.
struct WriterInbox: Sendable {
    /// A task that only the writer thread may run.
    typealias WriterTask = @Sendable (StoreWriter) -> Void

    var submissions: [Submission] = []
    var recordCount = 0
    var tasks: [WriterTask] = []
    /// Empty batches of earlier commits, kept for reuse of their memory.
    private var spares: [RecordBatch] = []
    var isStopping = false
    /// Damage of the file that another thread has detected.
    var corruptionReport: StoreFailure?
    /// `true` if new tasks are rejected. Reports are still accepted, and refused.
    var isClosed = false

    private var spareBytes = 0

    /// The total capacity of spare batches, enough for full load, and the maximum capacity of one. In bytes.
    private static let maxSpareBytes = 8 << 20
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

    mutating func keepSpares(of submissions: [Submission]) {
        for submission in submissions {
            let bytes = submission.batch.bytes.capacity
            guard bytes <= Self.maxBytesOfSpare, spareBytes + bytes <= Self.maxSpareBytes else { continue }
            spares.append(submission.batch)
            spareBytes += bytes
        }
    }

    /// Frees the memory of the spare batches when the load is low.
    mutating func dropSpares() {
        spares = []
        spareBytes = 0
    }

    /// Takes the whole content; returns nil if the writer must end.
    ///
    /// - Parameter isDone: Whether everything that was taken before has been processed.
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

/// Makes threads with long reads wait, so that the WAL can be reset.
///
/// The WAL can't be reset while a thread has a snapshot of it, and some threads take one snapshot after another. The
/// writer closes the gate, continues with its commits, and opens the gate again when all readers have left and the WAL
/// has been copied into the database.
final class ReaderGate: Sendable {
    private struct State {
        var readers = 0
        var isClosed = false
    }

    private let state = Monitor(State())

    /// How long a reader waits at most. After that, a longer WAL is better than a reader that never runs.
    private static let timeout: Duration = .seconds(1)

    /// Waits until the gate is open or the timeout is over, and registers a reader.
    func enter() {
        let deadline = MonotonicClock.now.advanced(by: Self.timeout)
        _ = state.wait(deadline: deadline) { state -> Bool? in state.isClosed ? nil : true }
        state.withLock { $0.readers += 1 }
    }

    /// Unregisters a reader. Returns `true` if it was the last one and the writer waits for it.
    func leave() -> Bool {
        state.withLock { state in
            state.readers -= 1
            return state.readers == 0 && state.isClosed
        }
    }

    /// Closes the gate for new readers. Returns `true` if there are none inside.
    func close() -> Bool {
        state.withLock { state in
            state.isClosed = true
            return state.readers == 0
        }
    }

    func open() {
        state.withLock { $0.isClosed = false }
        state.broadcast()
    }
}
