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
        /// A connection of a user is gone, and wants no answer.
        var withdraw: @Sendable (_ connection: UInt64, _ user: UInt32) -> Void
        /// The replies to a user take more memory than before, or less.
        var repliesChanged: @Sendable (_ user: UInt32, _ difference: Int) -> Void
        /// Has a job done when its turn comes; answers whether it is taken.
        var order: @Sendable (Job) -> Bool
        /// Tells the named destination, or all of them, to forward now. Returns how many do, and nil if none has the
        /// name. The completion is called once for each. A destination with a configuration error does not forward.
        var flush: @Sendable (_ destination: String?, _ completed: @escaping @Sendable () -> Void) -> Int?
    }

    let inbox = Mutex(SocketInbox())
    let wakeUp: EventCounter
    let listener: Listener
    let limits: SocketLimits
    let recordLimits: RecordLimits
    let access: Mutex<AccessPolicy>
    let board: StatusRegistry
    let log: Log

    init(
        listener: Listener, limits: SocketLimits, recordLimits: RecordLimits, access: AccessPolicy,
        board: StatusRegistry,
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

/// What other threads have for the thread of the socket.
struct SocketInbox: Sendable {
    var outcomes: [CallOutcome] = []
    var refusals: [Refusal] = []
    var answers: [Answer] = []
    /// Connections whose flush has come to its end at one more destination.
    var flushed: [UInt64] = []
    /// Whoever asks whether this thread lives.
    var pulses: [Pulse] = []
    /// Where connections come from now.
    var listener: Listener?
    /// Whether questions wait because unread replies take all memory.
    var lacksReplyRoom = false
    var hasNewRecords = false
    var hasNewFates = false
    var isStopping = false
    /// Nobody answers any more, so nobody is to wait.
    var isEnding = false

    mutating func take() -> SocketInbox {
        let taken = self
        self = SocketInbox()
        isStopping = taken.isStopping
        return taken
    }
}

/// Sees to it that the daemon can be found where its socket belongs, also when somebody has removed the file.
///
/// Whoever is connected notices nothing of that; nobody else can connect until
/// there is a file again. One that the service manager has opened is its to
/// make, so of that it is only said.
final class ListenerMonitor {
    private(set) var listener: Listener
    /// Whether the file is gone, and making it anew must be tried again.
    private(set) var isMissing = false
    private var hasReportedUnit = false
    let path: String
    /// Makes the socket with its folder, or nothing where it came from the service manager.
    private let make: (() throws(Errno) -> FileDescriptor)?
    private var watch: FolderWatch?
    private var place: FileStatus?
    private let log: Log

    /// Keeps a socket that was inherited.
    init(_ listener: Listener, path: String, log: Log) {
        self.listener = listener
        self.path = path
        self.log = log
        make = nil
        remember()
    }

    /// Makes a socket and keeps it.
    init(path: String, log: Log, make: @escaping () throws(Errno) -> FileDescriptor) throws(Errno) {
        listener = Listener(try make())
        self.path = path
        self.log = log
        self.make = make
        remember()
    }

    /// `true` if the service manager made the socket, and keeps it when the daemon ends.
    var isInherited: Bool { make == nil }

    /// Has a poller tell when it is time to look.
    func watch(with poller: borrowing Poller, token: UInt64) {
        if let watch { try? poller.add(watch.descriptor, token: token, for: [.read]) }
    }

    /// Looks whether the file is still there; answers the new listener where it had to be made anew.
    func look() -> Listener? {
        watch?.clear()
        let found = try? FileSystem.status(of: path, followingLinks: false)
        guard let place, found?.inode != place.inode || found?.device != place.device else { return nil }
        guard let make else {
            if !hasReportedUnit {
                log.warning("The socket's file was removed, its unit must be restarted", ["path": path])
            }
            hasReportedUnit = true
            return nil
        }
        do throws(Errno) {
            listener = Listener(try make())
            remember()
            isMissing = false
            log.warning("The socket's file was removed, it has been made anew", ["path": path])
            return listener
        } catch {
            if !isMissing {
                log.error(
                    "The socket's file was removed and can't be made anew, trying again until it can",
                    ["path": path, "error": "\(error)"])
            }
            isMissing = true
            return nil
        }
    }

    private func remember() {
        place = try? FileSystem.status(of: path, followingLinks: false)
        watch = try? FolderWatch(FileSystem.parentFolder(of: path))
    }
}

/// The socket on which connections arrive.
final class Listener: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}
