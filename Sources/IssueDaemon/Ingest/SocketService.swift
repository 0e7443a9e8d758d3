import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// The socket: takes connections, reads calls, and gives replies, on one thread.
final class SocketService: Sendable {
    /// What the socket hands on, and to whom.
    struct Handlers: Sendable {
        /// Answers an empty batch for what is reported next.
        var submit: @Sendable (Submission) -> RecordBatch
        var ask: @Sendable (QueryJob) -> Void
        /// A connection is gone, and wants no answer.
        var withdraw: @Sendable (_ connection: UInt64) -> Void
        /// Has a job done when its turn comes; answers whether it is taken.
        var order: @Sendable (Job) -> Bool
        /// Has the named destination, or all, forward now; answers how many there are. The completion is called once
        /// for each.
        var flush: @Sendable (_ destination: String?, _ completed: @escaping @Sendable () -> Void) -> Int
    }

    let inbox = Mutex(SocketInbox())
    let wakeUp: EventCounter
    let listener: Listener
    let limits: SocketLimits
    let recordLimits: RecordLimits
    let access: Mutex<AccessPolicy>
    let board: StatusBoard
    let log: Log

    init(
        listener: Listener, limits: SocketLimits, recordLimits: RecordLimits, access: AccessPolicy, board: StatusBoard,
        log: Log
    ) throws(Errno) {
        wakeUp = try EventCounter()
        self.listener = listener
        self.limits = limits
        self.recordLimits = recordLimits
        self.access = Mutex(access)
        self.board = board
        self.log = log
    }

    /// Leaves something for the thread of the socket, and wakes it.
    func tell(_ change: (inout SocketInbox) -> Void) {
        inbox.withLock { change(&$0) }
        wakeUp.signal()
    }

    /// Reports that were stored; whoever follows or awaits may have an answer now.
    func stored(_ outcomes: [CallOutcome]) {
        tell {
            if $0.outcomes.isEmpty { $0.outcomes = outcomes } else { $0.outcomes += outcomes }
            $0.hasNewRecords = true
        }
    }

    func refused(_ refusals: [Refusal]) {
        guard !refusals.isEmpty else { return }
        tell { $0.refusals += refusals }
    }

    func answered(_ answer: Answer) {
        tell { $0.answers.append(answer) }
    }

    func fatesMoved() {
        tell { $0.hasNewFates = true }
    }

    /// Has connections taken from another socket.
    func listen(at listener: Listener) {
        tell { $0.listener = listener }
    }

    /// No more connections and no more calls; the thread ends when all that began has been answered.
    func stop() {
        tell { $0.isStopping = true }
    }

    /// The thread ends, and hangs up on whoever still waits: he sends again.
    func end() {
        tell { $0.isEnding = true }
    }

    func run(_ handlers: Handlers) {
        do throws(Errno) {
            let loop = try SocketLoop(self, handlers)
            try loop.run()
        } catch {
            log.error("The socket can't be served any more, ending", ["error": "\(error)"])
        }
    }
}
