import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// Answers `Status`, metrics, `Flush` and `Limits` without waiting for the queries on the query threads.
///
/// One thread reads the figures of all users in one short snapshot and publishes them; another answers from them. An
/// answer includes everything stored before the query. If reading fails or takes too long, the answer contains the last
/// published figures, or it is an error if there are none. `Limits` needs no figures.
final class StatusService: Sendable {
    private struct State {
        var waiting: [QueryJob] = []
        /// The number of the last query that needs figures. Figures that are read for it also serve earlier queries.
        var submitted: UInt64 = 0
        /// The number of the last query for which reading figures has succeeded or failed.
        var settled: UInt64 = 0
        var figures: StoreFigures?
        /// The time at which the figures were published; nil before that.
        var publishedAt: KernelInstant?
        /// The error to answer with while there are no figures; nil until reading them fails.
        var refusal: CollectorError?
        var isStopping = false
    }

    private let state = Monitor(State())
    /// Interrupts the reading of figures; nil before the first time.
    private let reading = Mutex<QueryInterruption?>(nil)
    private let path: String
    private let writer: WriterService
    private let statusRegistry: StatusRegistry
    private let socket: SocketService
    private let log: Log
    private let announcements: @Sendable () -> [LimitStatus]

    /// How long an answer waits for new figures if the last ones are not older than `maxAge`.
    private static let timeout: Duration = .milliseconds(800)
    /// How long an answer waits if there are no figures yet or they are older than `maxAge`. Old figures would show
    /// records as pending that have been delivered since.
    private static let longTimeout: Duration = .seconds(5)
    private static let maxAge: Duration = .seconds(5)

    /// - Parameter announcements: Returns the status of the limits on announcements.
    init(
        path: String, writer: WriterService, statusRegistry: StatusRegistry, socket: SocketService, log: Log,
        announcements: @escaping @Sendable () -> [LimitStatus]
    ) {
        (self.path, self.writer, self.statusRegistry, self.socket, self.log) = (
            path, writer, statusRegistry, socket, log
        )
        self.announcements = announcements
    }

    func submit(_ job: QueryJob) {
        state.withLock { state in
            // The limits need no figures.
            if !job.work.isLimits { state.submitted += 1 }
            state.waiting.append(job)
        }
        state.broadcast()
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        state.broadcast()
        reading.withLock { $0?.cancel() }
    }

    // MARK: Answering

    /// Answers queries until `stop()` is called and none is left.
    func run() {
        while let (waiting, number) = nextJobs() {
            let limits = waiting.filter(\.work.isLimits)
            let jobs = waiting.filter { !$0.work.isLimits }
            answerLimits(limits.filter(\.isPrivileged))
            // Operators' queries for figures are answered before other users' queries for limits.
            let others = limits.filter { !$0.isPrivileged }
            let isLater = jobs.contains(where: \.isPrivileged)
            if !isLater { answerLimits(others) }
            if jobs.isEmpty { continue }
            let now = MonotonicClock.now
            let publishedAt = state.withLock { $0.publishedAt }
            let isRecent = publishedAt.map { $0.advanced(by: Self.maxAge) >= now } ?? false
            let deadline = now.advanced(by: isRecent ? Self.timeout : Self.longTimeout)
            _ = state.wait(deadline: deadline) { $0.settled >= number || $0.isStopping ? true : nil }
            let (figures, refusal) = state.withLock { ($0.figures, $0.refusal) }
            guard let figures else {
                let error = refusal ?? .busy(retryAfter: .seconds(1))
                for job in jobs { socket.answered(job.answer(.refusal(error))) }
                if isLater { answerLimits(others) }
                continue
            }
            answer(jobs.filter(\.isPrivileged), from: figures)
            if isLater { answerLimits(others) }
            answer(jobs.filter { !$0.isPrivileged }, from: figures)
        }
    }

    private func nextJobs() -> (jobs: [QueryJob], number: UInt64)? {
        let next = state.wait { state -> ([QueryJob], UInt64)?? in
            if state.isStopping, state.waiting.isEmpty { return .some(nil) }
            guard !state.waiting.isEmpty else { return nil }
            defer { state.waiting = [] }
            return (state.waiting, state.submitted)
        }
        return next ?? nil
    }

    /// Answers queries for limits. Queries with the same rights share a reply.
    private func answerLimits(_ jobs: [QueryJob]) {
        guard !jobs.isEmpty else { return }
        let announcements = announcements()
        var replies = ReplyCache<[UInt8]>()
        for job in jobs {
            let reply = replies.reply(to: job.viewer) {
                QueryService.reply(statusRegistry.limits(announcements: announcements, viewer: job.viewer))
            }
            socket.answered(job.answer(.reply(reply)))
        }
    }

    /// Answers queries that need figures. Queries with the same rights share a status.
    private func answer(_ jobs: [QueryJob], from figures: StoreFigures) {
        var replies = ReplyCache<(status: DaemonStatus, reply: [UInt8])>()
        for job in jobs {
            let (status, reply) = replies.reply(to: job.viewer) {
                var own = figures.visible(to: job.viewer)
                if job.viewer == .everything { own.damagedRecords += writer.unstoredDamagedRecords }
                let status = statusRegistry.status(own, viewer: job.viewer)
                return (status, QueryService.reply(status))
            }
            switch job.work {
            case .destinations(let name):
                let destinations = status.destinations.filter { name == nil || $0.name == name }
                socket.answered(job.answer(.reply(QueryService.reply(FlushReply(destinations: destinations)))))
            case .metrics:
                let source = MetricSource(status, now: Clock.wall)
                socket.answered(job.answer(.reply(MetricsMethod.valueReplies(source))))
            default: socket.answered(job.answer(.reply(reply)))
            }
        }
    }

    // MARK: Reading

    /// Reads and publishes figures whenever queries need them, until `stop()` is called.
    func publish() {
        // Opened for the first query, because a daemon that only receives reports needs no reader.
        var reader: StoreReader?
        while let number = nextNumber() {
            do {
                let open = try reader ?? StoreReader(path: path, control: writer.snapshots.control(.query))
                reader = open
                reading.withLock { $0 = open.interruption }
                let figures = try open.figures()
                settle(number) { state in
                    state.figures = figures
                    state.publishedAt = MonotonicClock.now
                }
            } catch {
                if writer.mustReopen(after: error) { reader = nil }
                let failure = error as? StoreFailure
                if failure != .walTooLarge, failure != .tooSlow {
                    log.warning(.queryStatusFailed, ["error": "\(error)"])
                }
                settle(number) { $0.refusal = failure == .noSpace ? .noSpace : .busy(retryAfter: .seconds(1)) }
            }
        }
    }

    private func nextNumber() -> UInt64? {
        let next = state.wait { state -> UInt64?? in
            if state.isStopping { return .some(nil) }
            guard state.submitted > state.settled else { return nil }
            return .some(state.submitted)
        }
        return next ?? nil
    }

    private func settle(_ number: UInt64, _ change: (inout State) -> Void) {
        state.withLock { state in
            state.settled = number
            change(&state)
        }
        state.broadcast()
    }
}

/// The replies to the last few viewers, to reuse for queries with the same rights.
struct ReplyCache<Reply> {
    private var replies: [(viewer: Viewer, reply: Reply)] = []

    /// The maximum number of replies. It is small because a reply can be large.
    private static var capacity: Int { 4 }

    /// Returns the known reply to a viewer, or computes it.
    mutating func reply(to viewer: Viewer, _ make: () -> Reply) -> Reply {
        if let known = replies.last(where: { $0.viewer == viewer }) { return known.reply }
        let reply = make()
        replies = Array(replies.suffix(Self.capacity - 1)) + [(viewer, reply)]
        return reply
    }
}
