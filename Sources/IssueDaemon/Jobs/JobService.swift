import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// Runs long jobs one after the other, on a thread of its own.
///
/// The jobs change the store on the writer thread, in small steps between commits. Some jobs end when their client
/// disconnects (`Job.Work.endsWithClient`), and all end when the daemon stops.
final class JobService: Sendable {
    private struct JobQueue: Sendable {
        var jobs: [Job] = []
        var isStopping = false
        /// The connection whose job is running; nil if none is.
        var running: UInt64?
        /// Whether `cancel(connection:)` was called for the connection of the running job. A job that is completed
        /// without its client continues nevertheless.
        var isCancelled = false
    }

    private let queue = Monitor(JobQueue())
    private let path: String
    fileprivate let writer: WriterService
    fileprivate let socket: SocketService
    private let destinations: Destinations
    private let notifiers: Notifiers
    fileprivate let redactor: Mutex<Redactor>
    /// The names of the configured notifiers.
    fileprivate let notifierNames: Mutex<[String]>
    fileprivate let log: Log

    /// The maximum number of waiting jobs.
    private static let maxWaiting = 8

    init(
        path: String, writer: WriterService, socket: SocketService, destinations: Destinations, notifiers: Notifiers,
        notifierNames: [String], redactor: Redactor, log: Log
    ) {
        self.redactor = Mutex(redactor)
        self.notifierNames = Mutex(notifierNames)
        (self.path, self.writer, self.socket, self.destinations, self.log) = (path, writer, socket, destinations, log)
        self.notifiers = notifiers
    }

    /// Sets the redactor and the names of the configured notifiers. A running repair uses the redactor from the next
    /// database on.
    func use(_ redactor: Redactor, notifierNames: [String]) {
        self.redactor.withLock { $0 = redactor }
        self.notifierNames.withLock { $0 = notifierNames }
    }

    /// Enqueues a job. Returns `false` if too many are waiting or the service is stopping.
    func enqueue(_ job: Job) -> Bool {
        let isTaken = queue.withLock { queue in
            guard !queue.isStopping, queue.jobs.count < Self.maxWaiting else { return false }
            queue.jobs.append(job)
            return true
        }
        queue.signal()
        return isTaken
    }

    /// Enqueues a job that removes unreferenced rows, unless too many jobs are waiting or the service is stopping.
    func collect() {
        _ = enqueue(Job(connection: 0, queryToken: 0, requester: nil, wantsProgress: false, work: .collect))
    }

    /// Cancels the jobs of a connection, except those that are completed without their client.
    func cancel(connection: UInt64) {
        queue.withLock { queue in
            queue.jobs.removeAll { $0.connection == connection && $0.work.endsWithClient }
            if queue.running == connection { queue.isCancelled = true }
        }
    }

    /// Ends the thread. A running job is given up at its next step.
    func stop() {
        queue.withLock { $0.isStopping = true }
        queue.broadcast()
    }

    /// Runs jobs until `stop()` is called.
    func run() {
        BackupJob.removeLeftovers(of: path, log)
        while let job = nextJob() {
            var run = JobRun(job, self, path: path)
            let audit = job.requester.flatMap { requester in job.work.audit.map { ($0, requester) } }
            if let (audit, requester) = audit { log.began(audit.request, by: requester, audit.parameters) }
            do {
                if let content = try answer(to: job.work, &run) { socket.answered(job.answer(content)) }
            } catch {
                _ = writer.mustReopen(after: error)
                let refusal = refusal(for: error)
                run.result = error is JobRun.Stopped ? "given up" : "\(refusal)"
                socket.answered(job.answer(.refusal(refusal)))
            }
            if let (audit, requester) = audit { log.ended(audit.request, by: requester, result: run.result) }
        }
    }

    /// Returns `true` if a running job must be given up.
    fileprivate func isStopping(_ job: Job) -> Bool {
        queue.withLock { $0.isStopping || $0.isCancelled && job.work.endsWithClient }
    }

    private func nextJob() -> Job? {
        let next: Job?? = queue.wait { queue in
            queue.running = nil
            queue.isCancelled = false
            if queue.isStopping { return .some(nil) }
            guard !queue.jobs.isEmpty else { return nil }
            let job = queue.jobs.removeFirst()
            queue.running = job.connection
            return .some(job)
        }
        return next ?? nil
    }

    private func answer(to work: Job.Work, _ run: inout JobRun) throws -> QueryAnswer.Content? {
        switch work {
        case .backup(let parameters): return try BackupJob(parameters).run(&run)
        case .purge(let parameters):
            // Done before the reply, and also after an error, because some records may have been erased.
            defer { destinations.recordsErased() }
            return .reply(with: try PurgeJob(parameters).run(&run))
        case .repair(let parameters):
            defer { recordsArrived() }
            return .reply(with: try RepairJob(parameters).run(&run))
        case .requeue(let parameters):
            defer { recordsArrived() }
            return .reply(with: try RequeueJob(parameters).run(&run))
        case .testNotifier(let name):
            guard let reply = notifiers.test(name) else { throw CollectorError.notFound(id: name) }
            if !reply.delivered { run.result = "not delivered: \(reply.answer)" }
            return .reply(with: reply)
        case .collect:
            try Collection().run(run)
            return nil
        }
    }

    /// Tells followers and destinations that a job may have recovered records or made records pending again.
    private func recordsArrived() {
        socket.stored([])
        destinations.recordsArrived()
    }

    private func refusal(for error: any Error) -> CollectorError {
        if let refusal = CollectorError(knownCause: error) { return refusal }
        if !(error is JobRun.Stopped) { log.warning(.jobFailed, ["error": "\(error)"]) }
        return .busy(retryAfter: .seconds(1))
    }
}

/// A long operation, usually requested by an operator.
struct Job: Sendable {
    enum Work: Sendable {
        case backup(BackupParameters)
        case purge(PurgeParameters)
        case repair(RepairParameters)
        case requeue(RequeueParameters)
        /// Sends a test message through the notifier with this name.
        case testNotifier(String)
        /// Removes unreferenced rows. No client has requested it.
        case collect
    }

    var connection: UInt64
    /// The index of the query among the calls of its connection.
    var queryToken: UInt64
    /// The process that requested the job, with the credentials from the kernel; nil for the daemon's own jobs.
    var requester: Sender?
    /// Whether the client accepts progress replies.
    var wantsProgress: Bool
    var work: Work

    func answer(_ content: QueryAnswer.Content) -> QueryAnswer {
        QueryAnswer(connection: connection, queryToken: queryToken, content: content)
    }
}

extension Job.Work {
    /// Whether the job is given up when its client disconnects.
    ///
    /// A backup or a dry run is useless if no client gets the result. A repair can be requested again and stores no
    /// record twice. A purge or a requeue is completed, because the number of stored records limits its work. So is a
    /// test of a notifier, which takes at most 40 seconds.
    var endsWithClient: Bool {
        switch self {
        case .backup, .repair: true
        case .purge(let parameters): parameters.isDryRun == true
        case .requeue, .collect, .testNotifier: false
        }
    }

    /// The name and parameters for the audit log; nil for dry runs and for the daemon's own jobs.
    var audit: (request: String, parameters: String)? {
        switch self {
        case .backup(let parameters): return ("backup", Self.text(parameters))
        case .purge(let parameters):
            return parameters.isDryRun == true ? nil : ("purge", Self.text(Self.logged(parameters)))
        case .repair(let parameters):
            return parameters.isDryRun == true ? nil : ("repair", Self.text(parameters))
        case .requeue(let parameters): return ("requeue", Self.text(parameters))
        case .testNotifier(let name): return ("test_notifier", name)
        case .collect: return nil
        }
    }

    /// The conditions of a purge whose values are logged.
    private static let loggedConditions: Set = [
        "apps", "versions", "environments", "severity", "domains", "codes", "files", "groups", "users", "units",
        "states", "since_deploy", "fates", "destination", "since", "until",
    ]

    /// Returns the parameters of a purge for the log. Conditions that are not in `loggedConditions` are logged without
    /// their values, because the text to be erased must not remain in the log.
    private static func logged(_ parameters: PurgeParameters) -> JSONValue {
        let conditions = parameters.filter.jsonMembers.map { condition in
            loggedConditions.contains(condition.key)
                ? condition : .init(condition.key, condition.value.asArray == nil ? "(left out)" : ["(left out)"])
        }
        return .object(
            parameters.jsonMembers.map { $0.key == "filter" ? .init($0.key, .object(conditions)) : $0 })
    }

    private static func text(_ parameters: some JSONCodable) -> String {
        String(decoding: parameters.json, as: UTF8.self)
    }
}

/// The context of a running job.
struct JobRun {
    /// Thrown when a job must be given up because the daemon stops or the client has disconnected.
    struct Stopped: Error {}

    let path: String
    /// How the job ended, for the audit log.
    fileprivate(set) var result = "done"
    private let job: Job
    private let service: JobService
    private var reportedAt: MonotonicInstant?

    /// The minimum interval between progress replies.
    private static let interval: Duration = .milliseconds(250)

    init(_ job: Job, _ service: JobService, path: String) {
        (self.job, self.service, self.path) = (job, service, path)
    }

    var writer: WriterService { service.writer }
    var log: Log { service.log }
    var redactor: Redactor { service.redactor.withLock { $0 } }
    /// The names of the configured notifiers.
    var notifierNames: [String] { service.notifierNames.withLock { $0 } }

    /// The folder of the database, of backups and of files that were moved aside.
    var folder: String { FileSystem.parentFolder(of: path) }

    /// The database's name in its folder.
    var fileName: String { FileSystem.name(of: path) }

    /// Returns a reader whose snapshots are ended when the WAL becomes too large.
    func reader() throws -> StoreReader {
        try StoreReader(path: path, control: writer.snapshots.control(.job))
    }

    /// Reads in one snapshot, and retries if the snapshot was ended because the WAL was too large.
    func reading<Value>(_ body: () throws -> Value) throws -> Value {
        for _ in 1..<Self.maxAttempts {
            do { return try body() } catch StoreFailure.walTooLarge { try checkCancellation() }
        }
        return try body()
    }

    /// The number of attempts to read in one snapshot.
    private static let maxAttempts = 20

    /// Called between two steps. Throws `Stopped` if the job must be given up.
    func checkCancellation() throws {
        guard !service.isStopping(job) else { throw Stopped() }
    }

    /// A closure that returns `true` if the job must be given up. It may be called on any thread.
    var isCancelled: @Sendable () -> Bool {
        { [service, job] in service.isStopping(job) }
    }

    /// Throws `noSpace` if a copy of this size would leave less than `KeepFree=` free, because retention would then
    /// remove records.
    func requireSpace(for bytes: Int64) throws {
        let keepFree = try writer.perform { $0.retention.keepFree }
        let free = Int64(clamping: try FileSystem.freeBytes(at: folder))
        guard free - bytes >= keepFree else {
            log.warning(.jobNoSpace, ["bytes": "\(bytes)", "free": "\(free)"])
            throw CollectorError.noSpace
        }
    }

    /// Called between two steps. Sends progress to a client that accepts it, at most once per `interval`. Throws
    /// `Stopped` if the job must be given up.
    mutating func progress(_ reply: some JSONCodable) throws {
        try checkCancellation()
        let now = Clock.monotonic
        if let reportedAt, reportedAt.duration(to: now) < Self.interval { return }
        reportedAt = now
        guard job.wantsProgress else { return }
        service.socket.answered(job.answer(.progress(VarlinkReply(parameters: reply.json, continues: true).message)))
    }
}

extension Array {
    /// Splits the array into arrays with at most `count` elements, one for each transaction.
    func portions(of count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min(self.count, $0 + count)]) }
    }
}

/// Makes dead letters pending again, in small steps between commits.
struct RequeueJob {
    private let parameters: RequeueParameters

    /// The maximum number of dead letters that one transaction requeues.
    private static let lettersAtATime = 256

    init(_ parameters: RequeueParameters) {
        self.parameters = parameters
    }

    func run(_ run: inout JobRun) throws -> RequeueReply {
        let letters = try run.reader().deadLetterIDs(parameters)
        var count: Int64 = 0
        for some in letters.portions(of: Self.lettersAtATime) {
            count += try run.writer.perform { try $0.requeue(some) }
            try run.progress(RequeueReply(count: count))
        }
        if count > 0 { run.log.notice(.jobRequeued, ["count": "\(count)"]) }
        return RequeueReply(count: count, left: Int64(letters.count) - count)
    }
}
