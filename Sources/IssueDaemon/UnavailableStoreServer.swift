import IssueCore
import IssueProtocol
import IssueStore

/// Serves the socket while the store can't be opened.
///
/// Reports and queries are answered with `Busy` or `NoSpace`, so that senders keep their reports and retry. Only
/// `Status` and metrics are answered, with the reason.
final class UnavailableStoreServer {
    private let socket: SocketService
    private let thread: JoinableThread

    private static let retryAfter: Duration = .seconds(1)

    init(
        _ effective: EffectiveConfiguration, listener: ListeningSocket, metricsListener: ListeningSocket?,
        reason: StoreFailure, log: Log
    ) throws {
        let configuration = effective.configuration
        let board = StatusRegistry(path: configuration.store.path)
        board.update(reason)
        board.update(effective)
        let socket = try SocketService(
            listener: listener, metricsListener: metricsListener, configuration, board: board, log: log)
        self.socket = socket
        let answer: CollectorError = reason == .noSpace ? .noSpace : .busy(retryAfter: Self.retryAfter)
        let handlers = SocketService.Handlers(
            submit: { submission in
                let connection = submission.process.connection
                socket.refused(submission.eachCall.map { Refusal($0, of: connection, answer) })
                return RecordBatch()
            },
            query: { job in
                let reply: [UInt8]
                switch job.work {
                case .status: reply = QueryService.reply(board.statusWithoutStore(viewer: job.viewer))
                case .metrics:
                    let status = board.statusWithoutStore(viewer: job.viewer)
                    reply = MetricsMethod.valueReplies(MetricSource(status, now: Clock.wall))
                default: return socket.answered(job.answer(.refusal(answer)))
                }
                socket.answered(job.answer(.reply(reply)))
            },
            withdraw: { _, _ in },
            repliesChanged: { _, _ in },
            order: { _ in false },
            flush: { name, _ in name == nil ? 0 : nil })
        thread = try JoinableThread(name: "socket") { socket.run(handlers) }
    }

    func listen(at listener: ListeningSocket) {
        socket.listen(at: listener)
    }

    /// Stops accepting connections, and waits up to `timeout` until all pending calls are answered.
    func end(timeout: Duration) {
        socket.stop()
        _ = thread.wait(until: Clock.kernel(Clock.monotonic.advanced(by: timeout)))
    }
}
