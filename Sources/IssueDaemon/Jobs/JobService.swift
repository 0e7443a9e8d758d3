import IssueProtocol
import IssueStore
import UnixIO

/// Does what takes long, one job after the other, on a thread of its own.
///
/// What has to be written for it, the writer writes in small steps between commits. A job goes on when whoever has
/// asked for it does not wait any more.
final class JobService: Sendable {
    private struct Inbox: Sendable {
        var jobs: [Job] = []
        var isStopping = false
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
        _ = order(Job(connection: 0, wantsProgress: false, work: .collect))
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
        while let job = nextJob() {
            let inbox = inbox
            var run = JobRun(
                path: path, writer: writer, log: log, isStopping: { inbox.withLock { $0.isStopping } },
                tell: { reply in
                    guard job.wantsProgress else { return }
                    answered(Answer(connection: job.connection, content: .progress(reply)))
                })
            do {
                guard let reply = try reply(to: job.work, &run) else { continue }
                answered(Answer(connection: job.connection, content: .reply(reply)))
            } catch {
                if let damage = error as? StoreFailure, damage.isDamage { damaged(damage) }
                answered(Answer(connection: job.connection, content: .refusal(refusal(for: error))))
            }
        }
    }

    private func nextJob() -> Job? {
        let next: Job?? = inbox.wait { inbox in
            if inbox.isStopping { return .some(nil) }
            return inbox.jobs.isEmpty ? nil : .some(inbox.jobs.removeFirst())
        }
        return next ?? nil
    }

    private func reply(to work: Job.Work, _ run: inout JobRun) throws -> [UInt8]? {
        switch work {
        case .backup: return QueryService.reply(try BackupJob().run(&run))
        case .purge(let parameters): return QueryService.reply(try PurgeJob(parameters).run(&run))
        case .repair(let parameters):
            defer { arrived() }
            return QueryService.reply(try RepairJob(parameters).run(&run))
        case .requeue(let parameters):
            defer { arrived() }
            return QueryService.reply(try RequeueJob(parameters).run(&run))
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
