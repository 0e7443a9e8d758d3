import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// What waits for the writer: reports, and work that must be done between two commits.
struct WriterInbox: Sendable {
    /// Something that only the writer may do.
    typealias WriterTask = @Sendable (StoreWriter) -> Void

    var submissions: [Submission] = []
    var recordCount = 0
    var tasks: [WriterTask] = []
    /// Batches that are stored, whose memory the next ones may use.
    private var spares: [RecordBatch] = []
    var isStopping = false
    /// The damage that somebody else has met in the file.
    var corruptionReport: StoreFailure?
    /// No errand is taken any more; reports are, until the end, and refused.
    var isClosed = false

    private var spareBytes = 0

    /// What is under way at full load mostly, in batches of which none is larger than what is usual.
    private static let maxSpareBytes = 8 << 20
    private static let maxBytesOfSpare = 1 << 20

    var isCorrupt: Bool { corruptionReport != nil }
    var isEmpty: Bool { submissions.isEmpty && tasks.isEmpty }

    /// An empty batch, mostly one whose memory is there already.
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

    /// Gives their memory back, when little is reported.
    mutating func dropSpares() {
        spares = []
        spareBytes = 0
    }

    /// Takes out all there is, or nothing when the end has come.
    ///
    /// - Parameter isDone: whether nothing is left of what was taken before.
    mutating func take(isDone: Bool) -> WriterInbox? {
        if isEmpty, isDone, isStopping, !isCorrupt {
            isClosed = true
            return nil
        }
        var work = self
        work.dropSpares()
        submissions = []
        recordCount = 0
        tasks = []
        corruptionReport = nil
        return work
    }
}

/// Where who reads long waits for a moment, so that the log can begin anew.
///
/// It can't while anybody has a snapshot of it, and somebody who takes one
/// after the other has one nearly always. The writer closes the gate, goes on
/// with its commits, and opens it again once those who were inside have left
/// and it has copied the log.
final class ReaderGate: Sendable {
    private struct State {
        var readers = 0
        var isClosed = false
    }

    private let state = Monitor(State())

    /// What a reader waits at most: a longer log is better than one who never reads.
    private static let timeout: Duration = .seconds(1)

    /// Comes in to read, once it is open.
    func enter() {
        let deadline = MonotonicClock.now.advanced(by: Self.timeout)
        _ = state.wait(deadline: deadline) { state -> Bool? in state.isClosed ? nil : true }
        state.withLock { $0.readers += 1 }
    }

    /// Has read; true where the writer waits for this.
    func leave() -> Bool {
        state.withLock { state in
            state.readers -= 1
            return state.readers == 0 && state.isClosed
        }
    }

    /// Lets nobody in from now on; true when nobody is inside.
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
