import IssueProtocol
import IssueStore
import UnixIO

/// Does what takes long, one job after the other, on a thread of its own.
///
/// The writer thread does the writing for it, in small steps between commits. Some jobs end when their client
/// disconnects (`Job.Work.endsWithClient`), all of them when the daemon stops.
final class JobService: Sendable {
    private struct Inbox: Sendable {
        var jobs: [Job] = []
        var isStopping = false
        /// The connection whose job is under way, and whether that job is to be given up.
        var running: UInt64?
        var isWithdrawn = false
    }

    private let inbox = Monitor(Inbox())
    private let path: String
    private let writer: WriterService
    /// Told when a job has stored records, for whom no report was answered.
    private let arrived: @Sendable () -> Void
    private let log: Log

    /// How many may wait.
    private static let mostWaiting = 8

    init(path: String, writer: WriterService, arrived: @escaping @Sendable () -> Void, log: Log) {
        self.path = path
        self.writer = writer
        self.arrived = arrived
        self.log = log
    }

    /// Has a job done when its turn comes; answers whether it is taken.
    func order(_ job: Job) -> Bool {
        let isTaken = inbox.withLock { inbox in
            guard !inbox.isStopping, inbox.jobs.count < Self.mostWaiting else { return false }
            inbox.jobs.append(job)
            return true
        }
        inbox.signal()
        return isTaken
    }

    /// Has removed what nothing refers to any more.
    func collect() {
        _ = order(Job(connection: 0, requester: nil, wantsProgress: false, work: .collect))
    }

    /// Gives up the jobs of a closed connection, except those that are finished without their client.
    func withdraw(_ connection: UInt64) {
        inbox.withLock { inbox in
            inbox.jobs.removeAll { $0.connection == connection && $0.work.endsWithClient }
            if inbox.running == connection { inbox.isWithdrawn = true }
        }
    }

    /// Ends the thread, and with it the job that is under way, at its next step.
    func stop() {
        inbox.withLock { $0.isStopping = true }
        inbox.broadcast()
    }

    /// Works until it is told to stop.
    ///
    /// - Parameter damaged: called when a job has met damage in the file.
    func run(_ answered: @Sendable @escaping (Answer) -> Void, damaged: @Sendable (StoreFailure) -> Void) {
        BackupJob.removeLeftovers(of: path, log)
        while let job = nextJob() {
            let inbox = inbox
            var run = JobRun(
                path: path, writer: writer, log: log,
                isStopping: { inbox.withLock { $0.isStopping || $0.isWithdrawn && job.work.endsWithClient } },
                tell: { reply in
                    guard job.wantsProgress else { return }
                    answered(Answer(connection: job.connection, content: .progress(reply)))
                })
            let audit = job.requester.flatMap { requester in job.work.audit.map { ($0, requester) } }
            if let (audit, requester) = audit { log.began(audit.request, by: requester, audit.parameters) }
            var result = "done"
            do {
                if let content = try answer(to: job.work, &run) {
                    answered(Answer(connection: job.connection, content: content))
                }
            } catch {
                if let damage = error as? StoreFailure, damage.isDamage { damaged(damage) }
                let refusal = refusal(for: error)
                result = error is JobRun.Stopped ? "given up" : "\(refusal)"
                answered(Answer(connection: job.connection, content: .refusal(refusal)))
            }
            if let (audit, requester) = audit { log.ended(audit.request, by: requester, result: result) }
        }
    }

    private func nextJob() -> Job? {
        let next: Job?? = inbox.wait { inbox in
            inbox.running = nil
            inbox.isWithdrawn = false
            if inbox.isStopping { return .some(nil) }
            guard !inbox.jobs.isEmpty else { return nil }
            let job = inbox.jobs.removeFirst()
            inbox.running = job.connection
            return .some(job)
        }
        return next ?? nil
    }

    private func answer(to work: Job.Work, _ run: inout JobRun) throws -> Answer.Content? {
        switch work {
        case .backup(let parameters): return try BackupJob(parameters).run(&run)
        case .purge(let parameters): return .reply(QueryService.reply(try PurgeJob(parameters).run(&run)))
        case .repair(let parameters):
            defer { arrived() }
            return .reply(QueryService.reply(try RepairJob(parameters).run(&run)))
        case .requeue(let parameters):
            defer { arrived() }
            return .reply(QueryService.reply(try RequeueJob(parameters).run(&run)))
        case .collect:
            try Collection().run(run)
            return nil
        }
    }

    private func refusal(for error: any Error) -> CollectorError {
        switch error {
        case let error as CollectorError: return error
        case QueryFailure.invalidFilter(let field, let reason): return .invalidFilter(field: field, reason: reason)
        case StoreFailure.noSpace: return .noSpace
        case let error as Errno where error == .deviceFull: return .noSpace
        case is JobRun.Stopped, is WriterClosed: return .busy(retryAfter: .seconds(1))
        default:
            log.warning("A job failed, and can be asked for again", ["error": "\(error)"])
            return .busy(retryAfter: .seconds(1))
        }
    }
}
