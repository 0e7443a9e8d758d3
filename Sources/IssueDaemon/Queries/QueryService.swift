import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// Answers queries on several query threads, each with a read-only connection to the database.
///
/// A `StatusService` answers `Status`, metrics, `Limits` and `Flush`, without waiting for the query threads.
final class QueryService: Sendable {
    private let inbox: Monitor<QueryInbox>
    private let watch = QueryWatchdog(slice: QueryInbox.slice)
    private let path: String
    private let writer: WriterService
    private let socket: SocketService
    private let log: Log
    private let status: StatusService
    private let changeLogLimit = Mutex(ChangeLogLimit())
    private let changeRateLimit = Mutex(ChangeRateLimit())
    /// The threads, in the order of `startThreads`: the watch thread is the first. They start with the first query,
    /// because each of them takes memory.
    private let threads = Mutex<[JoinableThread]>([])
    private let forecastSettings = Mutex(ForecastSettings())
    /// Counts the queries that were refused because a thread could not be started, since the last log line about them.
    private let threadShortages = Mutex(RepeatedEventCounter())

    init(
        path: String, writer: WriterService, statusRegistry: StatusRegistry, socket: SocketService,
        replies: ReplyBudget,
        log: Log, announcements: @escaping @Sendable () -> [LimitStatus] = { [] }
    ) {
        inbox = Monitor(QueryInbox(replies: replies))
        (self.path, self.writer, self.socket, self.log) = (path, writer, socket, log)
        status = StatusService(
            path: path, writer: writer, statusRegistry: statusRegistry, socket: socket, log: log,
            announcements: announcements)
    }

    /// Sets the settings for answering `ExplainRecord` and for redacting notes and reasons.
    func use(_ settings: ForecastSettings) {
        forecastSettings.withLock { $0 = settings }
    }

    /// Enqueues a query. Returns immediately; the answer goes to the socket thread.
    func submit(_ job: QueryJob) {
        do throws(Errno) {
            try startThreads()
        } catch {
            if let count = threadShortages.withLock({ $0.happened(at: Clock.monotonic) }) {
                log.warning(.queryThreadsFailed, ["refused": "\(count)", "error": "\(error)"])
            }
            return socket.answered(job.answer(.refusal(.busy(retryAfter: .seconds(1)))))
        }
        switch job.work {
        case .status, .metrics, .limits, .destinations: status.submit(job)
        case .list, .records, .newest, .news, .show, .histogram, .fates, .deadLetters, .setState,
            .deploy, .removeDeployment, .deployments, .grouping, .explainRecord, .retention, .silences, .addSilence,
            .endSilence:
            inbox.withLock { $0.enqueue(job) }
            inbox.broadcast()
        }
    }

    private func startThreads() throws(Errno) {
        let plans: [(name: String, body: @Sendable () -> Void)] = [
            ("query-watch", { self.watch.run() }),
            ("query-operator", { self.run(.privileged, thread: 0) }),
            ("query-1", { self.run(.shared, thread: 1) }),
            ("query-2", { self.run(.mixed, thread: 2) }),
            ("figures", { self.status.publish() }),
            ("status", { self.status.run() }),
        ]
        try threads.withLock { threads throws(Errno) in
            for plan in plans[threads.count...] { threads.append(try JoinableThread(name: plan.name, plan.body)) }
        }
    }

    /// Drops a closed connection's queries that wait for a query thread. Interrupts those in progress, unless they are
    /// protected.
    func cancel(connection: UInt64, user: UInt32) {
        inbox.withLock { $0.closed(connection, user: user) }
        watch.cancel(connection: connection)
    }

    /// Adds a difference, which may be negative, to the memory of the replies to a user.
    func repliesChanged(of user: UInt32, by difference: Int) {
        if inbox.withLock({ $0.repliesChanged(of: user, by: difference) }) { inbox.broadcast() }
    }

    /// Interrupts all current and later queries on the query threads. They are answered with `Busy`, or with the
    /// records found so far. Queries that wait for a change by the writer continue. The status service still answers.
    func refuseAll() {
        watch.stop()
    }

    /// Tells all threads except the watch thread to end, and interrupts queries that are not protected. Returns
    /// immediately.
    func stop() {
        watch.stop()
        inbox.withLock { $0.isStopping = true }
        inbox.broadcast()
        status.stop()
    }

    /// Waits until the threads, except the watch thread, have ended after `stop()`. Returns the number of threads that
    /// still run at the deadline.
    func wait(until deadline: KernelInstant) -> Int {
        threads.withLock { $0 }.dropFirst().count { !$0.wait(until: deadline) }
    }

    /// Ends the watch thread. Call this after `wait(until:)`: queries that still run are no longer interrupted.
    func finish() {
        watch.finish()
        threads.withLock { $0.first }?.join()
    }

    /// Answers queries until `stop()` is called.
    private func run(_ lane: QueryInbox.Lane, thread: Int) {
        // A search through the whole store must not delay receipts.
        Thread.yieldToOthers()
        // Opened for the first query, because a daemon that only receives reports needs no reader.
        var reader: StoreReader?
        while let (job, payer) = next(lane) {
            let began = MonotonicClock.now
            var content: QueryAnswer.Content
            do {
                let open = try reader ?? StoreReader(path: path, control: writer.snapshots.control(.query))
                reader = open
                let inbox = inbox
                watch.begin(thread, connection: job.connection, open.interruption) { time in
                    inbox.withLock { $0.mustYield(payer, after: time) }
                }
                content = try answer(job, open, thread)
                _ = watch.end(thread)
            } catch {
                let reason = watch.end(thread)
                if writer.mustReopen(after: error) { reader = nil }
                content = .refusal(refusal(for: error, endedFor: reason))
            }
            let (bytes, time) = (content.encoded?.count ?? 0, began.duration(to: MonotonicClock.now))
            if inbox.withLock({ $0.answered(payer, after: time, bytes: bytes) }) { inbox.broadcast() }
            socket.answered(job.answer(content, memory: QueryAnswer.Memory(user: payer.user, bytes: bytes)))
        }
    }

    private func next(_ lane: QueryInbox.Lane) -> (job: QueryJob, payer: QueryInbox.Payer)? {
        while true {
            switch inbox.wait(until: { $0.nextAction(for: lane) }) {
            case .answer(let job, let payer): return (job, payer)
            case .requestMemory: socket.enqueue { $0.lacksReplyRoom = true }
            case .stop, nil: return nil
            }
        }
    }

    private func answer(_ job: QueryJob, _ reader: StoreReader, _ thread: Int) throws -> QueryAnswer.Content {
        switch job.work {
        case .list(let parameters): return .reply(with: try list(parameters, job.viewer, reader))
        case .records(let parameters, let more):
            let page = try records(parameters, job.viewer, reader)
            let reply = VarlinkReply(parameters: page.json, continues: more && page.next != nil)
            return .page(reply.message, next: page.next)
        case .newest: return .news(nil, row: try reader.newest())
        case .news(let filter, let row):
            let newRecords = try reader.newRecords(above: row, filter, limit: Self.maxRecords, viewer: job.viewer)
            guard !newRecords.records.isEmpty else { return .news(nil, row: newRecords.seen) }
            let reply = VarlinkReply(parameters: RecordsReply(records: newRecords.records).json, continues: true)
            return .news(reply.message, row: newRecords.seen)
        case .show(let parameters):
            let shown = try reader.show(
                parameters.id, viewer: job.viewer, countsFates: parameters.countsFates ?? false)
            return .reply(
                with: IssueDetails(
                    record: shown.record, group: shown.group, fates: shown.fates, groupFates: shown.groupFates))
        case .histogram(let parameters): return .reply(with: try histogram(parameters, job.viewer, reader))
        case .fates(let parameters): return .fates(try fates(parameters, job, reader))
        case .deadLetters(let parameters):
            let limit = try Self.limit(parameters.limit, atMost: Self.maxRecords)
            return .reply(with: try reader.deadLetters(parameters, limit: limit, viewer: job.viewer))
        case .setState(let parameters): return .reply(with: try set(parameters, job, reader, thread))
        case .deploy(let parameters): return .reply(with: try deploy(parameters, job, thread))
        case .removeDeployment(let parameters): return .reply(with: try removeDeployment(parameters, job, thread))
        case .deployments(let parameters):
            let limit = try Self.limit(parameters.limit, atMost: Self.maxRecords)
            let page = try reader.deployments(
                app: parameters.app, limit: limit, after: parameters.after, viewer: job.viewer)
            return .reply(with: DeploymentsReply(deployments: page.deployments, next: page.next))
        case .grouping(let work):
            let grouping = GroupingQueries(
                reader: reader, writer: writer, viewer: job.viewer, requester: job.process.sender,
                isOperator: job.isPrivileged, redacted: { [self] in redacted($0) }
            ) { [self] in try beginChange(.grouping, job, thread) }
            let (reply, change) = try grouping.answer(work)
            if let change { logChange(change, .auditGroupingChanged, job) }
            return .reply(with: reply)
        case .explainRecord(let parameters):
            let forecasting = RecordForecasting(
                settings: forecastSettings.withLock { $0 }, reader: reader, viewer: job.viewer,
                requester: job.process.sender)
            return .reply(with: try forecasting.forecast(parameters))
        case .retention:
            let (retention, now) = (try writer.perform { $0.retention }, Clock.wall)
            let free = FileSystem.freeSpace(in: FileSystem.parentFolder(of: path))
            let usage = try reader.retentionUsage(retention, freeBytes: free, now: now)
            return .reply(with: usage.reply(retention, now: now))
        case .silences:
            return .reply(with: SilencesReply(silences: try reader.silences(at: Clock.wall).map(\.silence)))
        case .addSilence(let silence): return .reply(with: try add(silence, job, thread))
        case .endSilence(let id): return .reply(with: try endSilence(id, job, reader, thread))
        case .status, .metrics, .limits, .destinations: preconditionFailure("The status service answers this query")
        }
    }

    /// The maximum number of records, dead letters or deployments in one reply.
    static let maxRecords = 500
    /// The maximum number of groups in one reply.
    static let maxGroups = 1000
    /// The maximum number of results in a reply if the query sets no limit.
    static let defaultLimit = 50
    /// The time after which a page of records ends, so that a long search shows what it has found.
    private static let pageTime: Duration = .milliseconds(500)

    private func list(_ parameters: ListParameters, _ viewer: Viewer, _ reader: StoreReader) throws -> ListReply {
        let limit = try Self.limit(parameters.limit, atMost: Self.maxGroups)
        let buckets = max(parameters.sparkline ?? 0, 0)
        try QueryLimits.check(sparkline: buckets, groups: limit)
        let page = try reader.groups(
            StoreReader.GroupQuery(
                filter: parameters.filter ?? IssueFilter(), order: parameters.order ?? .newest, limit: limit,
                after: parameters.after, sparkline: parameters.sparkline == nil ? nil : buckets, now: Clock.wall),
            viewer: viewer)
        return ListReply(groups: page.groups, next: page.next)
    }

    private func records(
        _ parameters: RecordsParameters, _ viewer: Viewer, _ reader: StoreReader
    ) throws -> RecordsReply {
        let order = parameters.order ?? .newest
        guard order == .newest || order == .oldest else { throw QueryFailure.invalidParameter("order") }
        let page = try reader.records(
            StoreReader.RecordQuery(
                filter: parameters.filter ?? IssueFilter(), isAscending: order == .oldest,
                limit: try Self.limit(parameters.limit, atMost: Self.maxRecords), after: parameters.after,
                pageTime: Self.pageTime),
            viewer: viewer)
        let unreadable = viewer == .everything && page.unreadable > 0 ? page.unreadable : nil
        return RecordsReply(records: page.records, next: page.next, unreadable: unreadable)
    }

    private func histogram(
        _ parameters: HistogramParameters, _ viewer: Viewer, _ reader: StoreReader
    ) throws -> HistogramReply {
        let filter = parameters.filter ?? IssueFilter()
        let frame = try HistogramFrame(
            bucket: parameters.bucket, since: filter.since, until: filter.until, now: Clock.wall)
        let series = try reader.histogram(filter, frame, by: parameters.by ?? .total, viewer: viewer)
        let deploys = try reader.deployments(in: frame, filter, viewer: viewer)
        return HistogramReply(start: frame.start, bucket: parameters.bucket, series: series, deploys: deploys)
    }

    /// Returns the fates of a record. A process gets the fates of its own reports even if its user may read no records.
    private func fates(
        _ parameters: AwaitParameters, _ job: QueryJob, _ reader: StoreReader
    ) throws -> [IssueFate] {
        var viewer = job.viewer
        if viewer == .nothing, try reader.isReporter(job.process, of: parameters.id) {
            viewer = .user(job.process.sender.uid)
        }
        return try reader.fates(of: parameters.id, parameters.destination, viewer: viewer)
    }

    /// Sets the state of a group on the writer thread. Operators may change any group, other users only their own.
    private func set(
        _ parameters: SetStateParameters, _ job: QueryJob, _ reader: StoreReader, _ thread: Int
    ) throws -> SetStateReply {
        let now = Clock.wall
        if let name = parameters.invalidParameter(at: now) { throw QueryFailure.invalidParameter(name) }
        let subject = try reader.subject(parameters.group, viewer: job.viewer)
        guard job.isPrivileged || subject.uid == job.process.sender.uid else { throw CollectorError.denied }
        var stored = parameters
        stored.note = redacted(parameters.note)
        let standing = TriageState(
            stored, by: job.process.sender.uid,
            knownVersion: parameters.untilNewerVersion == true ? try reader.newestVersion(of: subject) : nil, at: now)
        try beginChange(.state, job, thread)
        let keepsNote = parameters.note == nil
        guard try writer.perform({ try $0.set(standing, ofGroup: subject.group, keepsNote: keepsNote) }) else {
            throw QueryFailure.notFound(id: parameters.group)
        }
        let change = GroupChange("set_state", parameters.group, "state", parameters.state.name)
        logChange(change, .auditStateChanged, job, parameters: parameters)
        return SetStateReply(group: try reader.show(parameters.group, viewer: job.viewer).group)
    }

    /// Returns a note or reason without the values that redaction removes from records; nil if nothing remains.
    ///
    /// The limit on its length applies to the original text.
    private func redacted(_ text: String?) -> String? {
        guard let text else { return nil }
        var redactor = forecastSettings.withLock { $0.redactor }
        let kept = redactor.text(text)
        return kept.isEmpty ? nil : kept
    }

    /// Checks the user's rate limit for changes, unless the user is an operator. Protects the query from interruption.
    /// Must be called before the writer makes a change, because the writer completes the change in any case and the
    /// answer must report it.
    ///
    /// - Throws: `CollectorError.busy` if the user has changed too much lately, or `StoreFailure.tooSlow` if the query
    ///   was ended already.
    private func beginChange(_ kind: ChangeRateLimit.Kind, _ job: QueryJob, _ thread: Int) throws {
        if !job.isPrivileged {
            let user = job.process.accountableUser
            let wait = changeRateLimit.withLock { $0.take(kind, user: user, at: Clock.monotonic) }
            if let wait { throw CollectorError.busy(retryAfter: wait) }
        }
        guard watch.protect(thread) else { throw StoreFailure.tooSlow }
    }

    private func add(_ silence: IssueSilence, _ job: QueryJob, _ thread: Int) throws -> AddSilenceMessage {
        let now = Clock.wall
        if let name = silence.invalidParameter(at: now) { throw QueryFailure.invalidParameter(name) }
        guard watch.protect(thread) else { throw StoreFailure.tooSlow }
        var own = silence
        own.uid = Int64(job.process.sender.uid)
        own.reason = redacted(silence.reason) ?? ""
        let added = own
        // The daemon sets the other members, and the log names the user anyway.
        let given = JSONValue.object(added.jsonMembers.filter { !["id", "uid", "at", "count"].contains($0.key) })
        return try audited(
            "add_silence", String(decoding: given.json, as: UTF8.self), job, result: { "done: \($0.silence.id)" }
        ) {
            guard let stored = try writer.perform({ try $0.add(added, at: now) }) else {
                throw QueryFailure.invalidFilter(
                    field: "silence", reason: "too many silences are in effect; end one first")
            }
            return AddSilenceMessage(silence: stored)
        }
    }

    private func endSilence(_ id: String, _ job: QueryJob, _ reader: StoreReader, _ thread: Int) throws -> SilencesReply
    {
        guard watch.protect(thread) else { throw StoreFailure.tooSlow }
        let (now, uid) = (Clock.wall, job.process.sender.uid)
        try audited("end_silence", id, job) {
            guard try writer.perform({ try $0.endSilence(id, by: uid, at: now) }) else {
                throw QueryFailure.notFound(id: id)
            }
        }
        return SilencesReply(silences: try reader.silences(at: now).map(\.silence))
    }

    /// Makes a change for an operator, and logs its start and end.
    ///
    /// - Parameters:
    ///   - request: The name of the request.
    ///   - parameters: The parameters for the log.
    ///   - job: The query.
    ///   - result: Returns the result for the log.
    ///   - change: Makes the change.
    private func audited<Value>(
        _ request: String, _ parameters: String, _ job: QueryJob, result: (Value) -> String = { _ in "done" },
        _ change: () throws -> Value
    ) throws -> Value {
        log.began(request, by: job.process.sender, parameters)
        do {
            let value = try change()
            log.ended(request, by: job.process.sender, result: result(value))
            return value
        } catch {
            let result = CollectorError(knownCause: error).map { "\($0)" } ?? "\(error)"
            log.ended(request, by: job.process.sender, result: result)
            throw error
        }
    }

    /// Logs a change of a group.
    ///
    /// - Parameter parameters: Those of a change of the state. The note, which may contain anything, is not logged.
    private func logChange(
        _ change: GroupChange, _ event: LogEvent, _ job: QueryJob, parameters: SetStateParameters? = nil
    ) {
        guard mayLogChange(job) else { return }
        log.audit(
            event, change.request, by: job.process.sender,
            [
                "group": change.group, change.name: change.value,
                "until": parameters?.until?.description, "until_count": parameters?.untilCount?.description,
                "until_newer_version": parameters?.untilNewerVersion == true ? "yes" : nil,
                "resolved_in": parameters?.resolvedIn,
                "resolved_in_next": parameters?.isResolvedInNext == true ? "yes" : nil,
                "corrections": change.corrections.isEmpty
                    ? nil : change.corrections.map { "\($0)" }.joined(separator: ","),
            ])
    }

    /// Stores a deployment on the writer thread.
    private func deploy(_ parameters: DeployParameters, _ job: QueryJob, _ thread: Int) throws -> DeployReply {
        let (now, author) = (Clock.wall, job.process.sender.uid)
        let scope = try scope(of: parameters, job, at: now)
        try beginChange(.state, job, thread)
        var own = parameters
        own.note = redacted(parameters.note)
        let declared = own
        let result = try writer.perform { try $0.declare(declared, of: scope, by: author, at: now) }
        if !result.isKnown { logDeployment(result.deployment, .auditDeployed, job) }
        return DeployReply(deployment: result.deployment, isKnown: result.isKnown ? true : nil)
    }

    private func removeDeployment(
        _ parameters: RemoveDeploymentParameters, _ job: QueryJob, _ thread: Int
    ) throws -> DeployReply {
        // Users who may declare a deployment may remove it.
        let declared = DeployParameters(app: parameters.app, version: parameters.version, user: parameters.user)
        let scope = try scope(of: declared, job, at: Clock.wall)
        try beginChange(.state, job, thread)
        let removed = try writer.perform {
            try $0.removeDeployment(of: ApplicationVersion(text: parameters.version), app: parameters.app, scope)
        }
        guard let removed else { throw QueryFailure.notFound(id: "\(parameters.app) \(parameters.version)") }
        logDeployment(removed, .auditDeploymentRemoved, job)
        return DeployReply(deployment: removed)
    }

    /// Returns the users whose application a deployment is for. Throws if the parameters are invalid or the requester
    /// may not declare it.
    private func scope(
        of parameters: DeployParameters, _ job: QueryJob, at now: IssueTimestamp
    ) throws -> DeploymentScope {
        if let name = parameters.invalidParameter(at: now) { throw QueryFailure.invalidParameter(name) }
        let scope = parameters.scope(
            requestedBy: job.process.sender.uid, isOperator: job.isPrivileged, isReused: job.viewer == .nothing)
        guard let scope else { throw CollectorError.denied }
        return scope
    }

    /// Logs a deployment.
    private func logDeployment(_ deployment: IssueDeployment, _ event: LogEvent, _ job: QueryJob) {
        guard mayLogChange(job) else { return }
        log.audit(
            event, by: job.process.sender,
            [
                "app": deployment.app, "version": deployment.version,
                "user": deployment.user.map { "\($0)" } ?? "all",
            ])
    }

    /// Returns `true` if a change or deployment may be logged. There is a rate limit for ordinary users, so that they
    /// can't fill the log.
    private func mayLogChange(_ job: QueryJob) -> Bool {
        guard !job.isPrivileged else { return true }
        let (isLogged, leftOut) = changeLogLimit.withLock {
            $0.changed(by: job.process.accountableUser, at: Clock.monotonic)
        }
        if leftOut > 0 { log.notice(.auditStatesOmitted, ["left_out": "\(leftOut)"]) }
        return isLogged
    }

    private static func limit(_ limit: Int?, atMost maximum: Int) throws -> Int {
        guard let limit else { return defaultLimit }
        guard limit > 0 else { throw QueryFailure.invalidParameter("limit") }
        return min(limit, maximum)
    }

    static func reply(_ parameters: some JSONCodable) -> [UInt8] {
        VarlinkReply(parameters: parameters.json).message
    }

    private func refusal(for error: any Error, endedFor reason: QueryWatchdog.Reason?) -> CollectorError {
        if let refusal = CollectorError(knownCause: error) { return refusal }
        switch error {
        case StoreFailure.walTooLarge: break
        case StoreFailure.tooSlow where reason != nil && reason != .tooSlow: break
        case StoreFailure.tooSlow:
            log.warning(.queryTimeout)
            return .tooSlow(retryAfter: .seconds(1))
        default: log.warning(.queryFailed, ["error": "\(error)"])
        }
        return .busy(retryAfter: .seconds(1))
    }
}

extension CollectorError {
    /// Creates the reply to a query or job that failed because of its parameters or the state of the store. Returns nil
    /// for other errors.
    init?(knownCause error: any Error) {
        switch error {
        case let error as CollectorError: self = error
        case let excess as QueryLimits.Excess: self = .invalidFilter(field: excess.field, reason: excess.reason)
        case QueryFailure.invalidFilter(let field, let reason): self = .invalidFilter(field: field, reason: reason)
        case QueryFailure.invalidParameter(let name): self = .invalidParameter(name)
        case QueryFailure.notFound(let id): self = .notFound(id: id)
        case QueryFailure.unreadable(let id): self = .unreadable(id: id)
        case StoreFailure.noSpace: self = .noSpace
        case let error as Errno where error == .deviceFull: self = .noSpace
        case is WriterClosed: self = .busy(retryAfter: .seconds(1))
        default: return nil
        }
    }
}
