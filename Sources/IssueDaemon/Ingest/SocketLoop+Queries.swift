import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

extension SocketLoop {
    /// The timeout of an `Await` or `Flush` call that does not set one.
    static let defaultTimeout: Duration = .seconds(30)

    /// Handles a call other than `Report` that has just begun.
    func beginQuery(_ message: Range<Int>, _ envelope: VarlinkCall.Envelope, _ connection: ClientConnection) {
        let (method, parameters) = connection.intake.query(message, envelope)
        connection.intake.releaseMemory()
        do throws(CollectorError) {
            try dispatch(method, parameters, more: envelope.more, connection)
        } catch {
            finish(error.reply.message, connection)
        }
    }

    /// The methods that only operators may call. The right is checked before the parameters are read.
    private static let operatorMethods: Set<CollectorMethod> = [
        .flush, .purge, .backup, .repair, .requeue, .testNotifier, .addSilence, .endSilence,
    ]

    private func dispatch(
        _ name: String, _ parameters: [UInt8], more: Bool, _ connection: ClientConnection
    ) throws(CollectorError) {
        guard let method = CollectorMethod(fullName: name) else {
            if let method = MetricsMethod(fullName: name) {
                try MetricsMethod.check(parameters: parameters, more: more)
                switch method {
                case .list: return job(.metrics, connection)
                case .describe: return finish(MetricsMethod.descriptionReplies, connection)
                }
            }
            return finish(try Introspection.reply(to: name, parameters), connection)
        }
        if Self.operatorMethods.contains(method), !isOperator(connection) { throw .denied }
        switch method {
        case .report: preconditionFailure("A report is not a query")
        case .list: job(.list(try read(parameters)), connection)
        case .records:
            let query: RecordsParameters = try read(parameters)
            guard query.follow == true else {
                return more ? request(.pages(query), connection) : job(.records(query, more: false), connection)
            }
            guard more else { throw .expectedMore }
            let filter = query.filter ?? IssueFilter()
            // The filter is checked here, because the first step may not use it.
            try check(filter)
            request(.following(filter), connection)
        case .show: job(.show(try read(parameters)), connection)
        case .deadLetters: job(.deadLetters(try read(parameters)), connection)
        case .status: job(.status, connection)
        case .limits: job(.limits, connection)
        case .retention:
            guard viewer(of: connection) == .everything else { throw .denied }
            job(.retention, connection)
        case .flush: try flush(try read(parameters), connection)
        case .await:
            let query: AwaitParameters = try read(parameters)
            let until = Clock.monotonic.advanced(by: query.timeout ?? Self.defaultTimeout)
            request(.awaiting(query, until: until), connection)
        case .purge:
            let purge: PurgeParameters = try read(parameters)
            try check(purge.filter)
            try enqueueJob(.purge(purge), more: more, connection)
        case .backup: try enqueueJob(.backup(try read(parameters)), more: more, connection)
        case .repair: try enqueueJob(.repair(try read(parameters)), more: more, connection)
        case .requeue:
            let requeue: RequeueParameters = try read(parameters)
            try within { () throws(QueryLimits.Excess) in
                try QueryLimits.check("records", count: requeue.records?.count)
            }
            try enqueueJob(.requeue(requeue), more: more, connection)
        case .setState: job(.setState(try read(parameters)), connection)
        case .deploy: job(.deploy(try read(parameters)), connection)
        case .removeDeployment: job(.removeDeployment(try read(parameters)), connection)
        case .deployments: job(.deployments(try read(parameters)), connection)
        case .histogram: job(.histogram(try read(parameters)), connection)
        case .testNotifier:
            let name = try read(parameters, as: TestNotifierParameters.self).notifier
            try enqueueJob(.testNotifier(name), more: more, connection)
        case .addSilence: job(.addSilence(try read(parameters, as: AddSilenceMessage.self).silence), connection)
        case .endSilence: job(.endSilence(try read(parameters, as: IDParameters.self).id), connection)
        case .listSilences:
            guard viewer(of: connection) == .everything else { throw .denied }
            job(.silences, connection)
        case .mergeGroups: job(.grouping(.merge(try read(parameters))), connection)
        case .splitGroup: job(.grouping(.split(try read(parameters))), connection)
        case .splitByField: job(.grouping(.splitByField(try read(parameters))), connection)
        case .addGroupRule: job(.grouping(.addRule(try read(parameters))), connection)
        case .corrections: job(.grouping(.corrections(try read(parameters))), connection)
        case .undoCorrection: job(.grouping(.undo(try read(parameters))), connection)
        case .explain: job(.grouping(.explain(try read(parameters, as: IDParameters.self).id)), connection)
        case .explainRecord: job(.explainRecord(try read(parameters)), connection)
        case .suggestMerges: job(.grouping(.suggest(try read(parameters))), connection)
        }
    }

    private func check(_ filter: IssueFilter) throws(CollectorError) {
        try within { () throws(QueryLimits.Excess) in try QueryLimits.check(filter) }
    }

    private func within(_ check: () throws(QueryLimits.Excess) -> Void) throws(CollectorError) {
        do throws(QueryLimits.Excess) {
            try check()
        } catch {
            throw .invalidFilter(field: error.field, reason: error.reason)
        }
    }

    private func read<Parameters: JSONCodable>(
        _ json: [UInt8], as type: Parameters.Type = Parameters.self
    ) throws(CollectorError) -> Parameters {
        do throws(FieldError) {
            return try Parameters(json: json)
        } catch {
            throw CollectorError(refusing: error)
        }
    }

    /// Begins a query that takes more than one step or may have more than one reply.
    private func request(_ request: ConnectionState.Request, _ connection: ClientConnection) {
        perform(connection.state.requested(request), connection)
    }

    private func perform(_ action: ConnectionState.RequestAction, _ connection: ClientConnection) {
        switch action {
        case .none: break
        case .run(let step): run(step, for: connection)
        case .endFlush(let step, let isComplete): endFlush(step, isComplete: isComplete, connection)
        }
    }

    func run(_ step: ConnectionState.QueryStep, for connection: ClientConnection) {
        switch step {
        case .page(let parameters): job(.records(parameters, more: true), connection)
        case .newest: job(.newest, connection)
        case .news(let filter, let row): job(.news(filter, row: row), connection)
        case .fates(let parameters): job(.fates(parameters), connection)
        case .destinations(let name): job(.destinations(name), connection)
        }
    }

    private func job(_ work: QueryJob.Work, _ connection: ClientConnection) {
        guard let token = connection.state.queryToken else { preconditionFailure("A step belongs to a query") }
        settleSending(of: connection)
        connection.queryViewer = viewer(of: connection)
        handlers.query(
            QueryJob(
                connection: connection.id, queryToken: token, viewer: connection.queryViewer,
                process: connection.process, isPrivileged: isOperator(connection), work: work))
    }

    // MARK: Rights, evaluated for each call because a reload may change them

    private func viewer(of connection: ClientConnection) -> Viewer {
        service.access.withLock { $0.viewer(uid: connection.process.sender.uid, groups: connection.groups) }
    }

    private func isOperator(_ connection: ClientConnection) -> Bool {
        service.access.withLock { $0.isOperator(uid: connection.process.sender.uid, groups: connection.groups) }
    }

    /// Submits a long-running job. The caller has checked that the user is an operator.
    private func enqueueJob(_ work: Job.Work, more: Bool, _ connection: ClientConnection) throws(CollectorError) {
        guard let token = connection.state.queryToken else { preconditionFailure("A job belongs to a query") }
        let job = Job(
            connection: connection.id, queryToken: token, requester: connection.process.sender, wantsProgress: more,
            work: work)
        guard handlers.enqueueJob(job) else { throw .busy(retryAfter: .seconds(10)) }
        request(.job, connection)
        settleSending(of: connection)
    }

    private func flush(_ parameters: FlushParameters, _ connection: ClientConnection) throws(CollectorError) {
        let until = Clock.monotonic.advanced(by: parameters.timeout ?? Self.defaultTimeout)
        guard let token = connection.state.queryToken else { preconditionFailure("A flush belongs to a query") }
        let completion = FlushCompletion(connection: connection.id, queryToken: token)
        let service = service
        let completed: @Sendable () -> Void = { service.enqueue { $0.flushed.append(completion) } }
        guard let count = handlers.flush(parameters.destination, completed) else {
            throw .notFound(id: parameters.destination ?? "")
        }
        service.log.began("flush", by: connection.process.sender, String(decoding: parameters.json, as: UTF8.self))
        request(.flushing(parameters, until: until, remaining: count), connection)
    }

    /// Logs the end of a flush, and requests the state of the destinations for its reply.
    func endFlush(_ step: ConnectionState.QueryStep, isComplete: Bool, _ connection: ClientConnection) {
        service.log.ended("flush", by: connection.process.sender, result: isComplete ? "done" : "timed out")
        run(step, for: connection)
    }

    // MARK: Answers

    func handle(_ answer: QueryAnswer) {
        if let memory = answer.memory { schedule.arrivedReplies.append(memory) }
        // The answer may have been ready when the query was cancelled.
        guard let connection = connections[answer.connection], connection.state.queryToken == answer.queryToken else {
            return
        }
        queueSending(to: connection)
        let action = connection.state.answered(
            answer.content.kind, isOperator: isOperator(connection),
            isOutdated: connection.queryViewer != viewer(of: connection), at: Clock.monotonic)
        switch action {
        case .none: break
        case .send:
            if let reply = answer.content.reply, !connection.intake.silent.contains(answer.queryToken) {
                connection.intake.replies.add(reply)
            }
        case .finish:
            if case .fileReply(_, let file) = answer.content, !connection.intake.silent.contains(answer.queryToken) {
                connection.file = file
            }
            finish(answer.content.reply ?? [], connection)
        case .deny: finish(CollectorError.denied.reply.message, connection)
        case .run(let step): run(step, for: connection)
        }
        updateDeadline(of: connection)
        if connection.state.queryToken == nil { resume(connection) }
    }

    /// Ends the query of a connection with its last reply. Does nothing if the connection has no query.
    private func finish(_ reply: [UInt8], _ connection: ClientConnection) {
        if connection.intake.finish(reply) { queueSending(to: connection) }
    }

    /// Continues with the calls that were held until the query was answered.
    private func resume(_ connection: ClientConnection) {
        if connection.intake.hasCalls { process(connection) }
    }

    // MARK: Continuing calls

    /// Queries new records for all followers, because records were stored.
    func pollNews() {
        for connection in connections.values {
            connection.state.recordsStored()
            pollNews(of: connection)
        }
    }

    /// Queries new records for a follower if there may be any, the previous ones have been sent, and the user's load
    /// allows it.
    func pollNews(of connection: ClientConnection) {
        guard connection.state.wantsNews, mayBegin(connection), let step = connection.state.pollNews() else {
            return
        }
        run(step, for: connection)
    }

    /// Queries awaited fates again, because fates have changed.
    func pollFates() {
        for connection in connections.values {
            if let step = connection.state.fatesChanged() { run(step, for: connection) }
        }
    }

    /// Handles the completion of a connection's flush by one destination.
    func flushed(_ completion: FlushCompletion) {
        guard let connection = connections[completion.connection] else { return }
        perform(connection.state.flushed(queryToken: completion.queryToken), connection)
    }

    // MARK: Queries that end early

    /// Gives up the query of a client that has disconnected. Calls received after the query are still handled.
    func abandonQuery(of connection: ClientConnection) {
        guard connection.state.queryToken != nil else { return }
        cancelQuery(of: connection)
        finish([], connection)
        resume(connection)
    }

    /// Cancels a connection's query or job, except a job that is completed without its client. A flush can't be
    /// cancelled; the log says that it was given up.
    func cancelQuery(of connection: ClientConnection) {
        if connection.state.hasJob { handlers.cancelWork(connection.id, connection.user.uid) }
        if connection.state.isFlushing {
            service.log.ended("flush", by: connection.process.sender, result: "given up")
        }
    }

    /// Ends a long-running query with `Busy` or a page without records. Called because the daemon stops, or before the
    /// connection is closed for lack of resources.
    func endQuery(of connection: ClientConnection) {
        let reply: [UInt8]
        switch connection.state.earlyReply {
        case .none: return
        case .noRecords: reply = QueryService.reply(RecordsReply(records: []))
        case .busy: reply = CollectorError.busy(retryAfter: .seconds(1)).reply.message
        }
        cancelQuery(of: connection)
        finish(reply, connection)
    }
}

extension QueryAnswer.Content {
    /// The kind of the answer, which determines what follows.
    fileprivate var kind: ConnectionState.QueryResult {
        switch self {
        case .reply, .fileReply, .refusal: .complete
        case .progress: .progress
        case .page(_, let next): .page(next: next)
        case .news(let reply, let row): .news(row: row, hasRecords: reply != nil)
        case .fates(let fates): .fates(arePending: fates.contains { $0.outcome == .pending })
        }
    }

    /// The reply to send; nil if there is none.
    fileprivate var reply: [UInt8]? {
        switch self {
        case .refusal(let error): error.reply.message
        case .fates(let fates): QueryService.reply(AwaitReply(fates: fates))
        case .reply, .fileReply, .progress, .page, .news: encoded
        }
    }
}

/// The interface `org.varlink.service`, with which clients discover the other interfaces.
enum Introspection {
    /// Returns the reply to a method of this interface.
    ///
    /// - Throws: `methodNotFound` or `interfaceNotFound` for another method; `interfaceNotFound` or `invalidParameter`
    ///   if the parameters don't name a known interface.
    static func reply(to name: String, _ parameters: [UInt8]) throws(CollectorError) -> [UInt8] {
        guard let method = ServiceMethod(fullName: name) else { throw unknown(name) }
        switch method {
        case .getInfo:
            let info = ServiceInfo(
                vendor: "issued", product: "issued", version: ProductVersion.text, url: "",
                interfaces: [ServiceInterface.name, CollectorInterface.name, MetricsInterface.name])
            return VarlinkReply(parameters: info.json).message
        case .getInterfaceDescription:
            let request: InterfaceDescriptionParameters
            do throws(FieldError) {
                request = try InterfaceDescriptionParameters(json: parameters)
            } catch {
                throw CollectorError(refusing: error)
            }
            guard let description = descriptions[request.interface] else { throw .interfaceNotFound(request.interface) }
            return VarlinkReply(parameters: InterfaceDescriptionReply(description: description).json).message
        }
    }

    private static func unknown(_ name: String) -> CollectorError {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return .methodNotFound(name) }
        let interface = String(name[..<dot])
        return descriptions[interface] == nil ? .interfaceNotFound(interface) : .methodNotFound(name)
    }

    private static let descriptions = [
        ServiceInterface.name: ServiceInterface.description,
        CollectorInterface.name: CollectorInterface.description,
        MetricsInterface.name: MetricsInterface.description,
    ]
}
