import HTTPTransfer
import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Forwards to one destination, on a thread of its own.
final class ForwardingService: Sendable {
    /// What a forwarder goes by.
    struct Settings: Sendable {
        var forward: ForwardSettings
        var limits: LimitSettings
        var users = AccountableUsers()
        var host: String
    }

    let destination: DestinationRow
    let settings: Settings
    let path: String
    let writer: WriterService
    let board: StatusBoard
    let log: Log
    /// Ends the request that is under way.
    let cancellation = HTTPCancellation()
    let inbox = Monitor(ForwardingInbox())

    init(
        destination: DestinationRow, settings: Settings, path: String, writer: WriterService, board: StatusBoard,
        log: Log
    ) {
        self.destination = destination
        self.settings = settings
        self.path = path
        self.writer = writer
        self.board = board
        self.log = log
    }

    /// Records were stored.
    func recordsArrived() {
        let wasEmpty = inbox.withLock { inbox in
            defer { inbox.hasNews = true }
            return inbox.isEmpty
        }
        if wasEmpty { inbox.signal() }
    }

    func flush(_ completed: @escaping @Sendable () -> Void) {
        inbox.withLock { $0.flushes.append(completed) }
        inbox.signal()
    }

    /// Ends the thread: at once, or after the answer that is under way.
    func stop() {
        inbox.withLock { $0.isStopping = true }
        inbox.signal()
    }

    /// Ends what is under way, too.
    func abandon() {
        cancellation.cancel()
    }

    /// How long to wait after the store has failed before going on from what it holds.
    private static let recovery: Duration = .seconds(5)

    /// Forwards until it is told to stop.
    ///
    /// What fails in the store does not end it: it goes on from what is stored.
    ///
    /// - Parameter fatesMoved: called whenever records have got another fate.
    func run<Destination: Shipper & ~Copyable>(
        _ makeShipper: () -> Destination, fatesMoved: @escaping @Sendable () -> Void
    ) {
        // Reports go first: what is forwarded is on disk already.
        Thread.yieldToOthers()
        while true {
            do {
                let loop = try ForwardingLoop(self, makeShipper(), fatesMoved: fatesMoved)
                try loop.run()
                break
            } catch is WriterClosed {
                // The daemon is at its end; the next start goes on from what is stored.
                break
            } catch {
                log.error(
                    "Forwarding has failed, trying again soon",
                    ["destination": destination.name, "error": "\(error)"])
            }
            let deadline = MonotonicClock.now.advanced(by: Self.recovery)
            if inbox.wait(deadline: deadline, until: { $0.isStopping ? true : nil }) == true { break }
        }
        for completed in inbox.withLock({ $0.take() }).flushes { completed() }
    }
}
