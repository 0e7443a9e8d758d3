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

    /// Forwards until it is told to stop.
    ///
    /// - Parameter fatesMoved: called whenever records have got another fate.
    func run<Destination: Shipper & ~Copyable>(
        _ shipper: consuming Destination, fatesMoved: @escaping @Sendable () -> Void
    ) {
        do {
            let loop = try ForwardingLoop(self, shipper, fatesMoved: fatesMoved)
            try loop.run()
        } catch is WriterClosed {
            // The daemon is at its end; the next start goes on from what is stored.
        } catch {
            log.error(
                "Forwarding has failed, trying again with the next start",
                [
                    "destination": destination.name, "error": "\(error)",
                ])
            board.tell(fault: "forwarding to \(destination.name) has stopped: \(error)")
        }
        for completed in inbox.withLock({ $0.take() }).flushes { completed() }
    }
}
