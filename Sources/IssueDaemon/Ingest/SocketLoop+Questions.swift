import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

extension SocketLoop {
    /// The timeout of calls that do not set one.
    static let defaultTimeout: Duration = .seconds(30)

    /// Begins a call other than `Report`.
    func ask(_ method: String, _ parameters: [UInt8], _ envelope: VarlinkCall.Envelope, _ connection: Connection) {
        connection.releaseMemory()
        connection.questionToken = connection.replies.open()
        connection.question = .single
        if envelope.oneway { connection.silent.insert(connection.questionToken) }
        do throws(CollectorError) {
            try dispatch(method, parameters, more: envelope.more, connection)
        } catch {
            finish(error.reply.message, connection)
        }
    }

    private func dispatch(
        _ name: String, _ parameters: [UInt8], more: Bool, _ connection: Connection
    ) throws(CollectorError) {
        guard let method = CollectorMethod(fullName: name) else {
            return finish(try Introspection.reply(to: name, parameters), connection)
        }
        switch method {
        case .report: preconditionFailure("Reports are read before they come here")
        case .list: job(.list(try read(parameters)), connection)
        case .records:
            let query: RecordsParameters = try read(parameters)
            guard query.follow == true else {
                if more {
                    connection.question = .pages(query)
                    connection.isFetchingPage = true
                }
                return job(.records(query, more: more), connection)
            }
            guard more else { throw .expectedMore }
            let filter = query.filter ?? IssueFilter()
            // The first job does not use the filter, so it is checked here.
            try check(filter)
            connection.question = .following(filter, row: 0)
            connection.pollGate = ChangePollGate()
            // With `since`, existing records are sent first. Otherwise, the
            // client gets only records after the newest one.
            job(filter.since == nil ? .newest : .news(filter, row: 0), connection)
        case .show:
            let query: ShowParameters = try read(parameters)
            job(.show(query.id), connection)
        case .deadLetters: job(.deadLetters(try read(parameters)), connection)
        case .status: job(.status, connection)
        case .flush: try flush(try read(parameters), connection)
        case .await:
            let query: AwaitParameters = try read(parameters)
            let until = Clock.monotonic.advanced(by: query.timeout ?? Self.defaultTimeout)
            connection.question = .awaiting(query, until: until)
            connection.pollGate = ChangePollGate()
            job(.fates(query), connection)
        case .purge:
            try allowOperators(connection)
            let purge: PurgeParameters = try read(parameters)
            try check(purge.filter)
            try order(.purge(purge), more: more, connection)
        case .backup:
            try allowOperators(connection)
            try order(.backup(try read(parameters)), more: more, connection)
        case .repair:
            try allowOperators(connection)
            try order(.repair(try read(parameters)), more: more, connection)
        case .requeue:
            try allowOperators(connection)
            let requeue: RequeueParameters = try read(parameters)
            try within { () throws(QueryLimits.Excess) in
                try QueryLimits.check("records", count: requeue.records?.count)
            }
            try order(.requeue(requeue), more: more, connection)
        case .setState: job(.setState(try read(parameters), isOperator: isOperator(connection)), connection)
        case .histogram: job(.histogram(try read(parameters)), connection)
        case .mergeGroups, .splitGroup:
            throw .methodNotImplemented(name)
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

    private func read<Parameters: JSONCodable>(_ json: [UInt8]) throws(CollectorError) -> Parameters {
        do throws(FieldError) {
            return try Parameters(json: json)
        } catch {
            throw CollectorError(refusing: error)
        }
    }

    private func job(_ work: QueryJob.Work, _ connection: Connection) {
        connection.openJobs += 1
        settleSending(of: connection)
        connection.queryViewer = viewer(of: connection)
        handlers.ask(
            QueryJob(
                connection: connection.id, question: connection.questionToken, viewer: connection.queryViewer,
                process: connection.process,
                isPrivileged: isOperator(connection), work: work))
    }

    // MARK: Rights, evaluated for each call because a reload may change them

    private func viewer(of connection: Connection) -> Viewer {
        service.access.withLock { $0.viewer(uid: connection.process.sender.uid, groups: connection.groups) }
    }

    private func isOperator(_ connection: Connection) -> Bool {
        service.access.withLock { $0.isOperator(uid: connection.process.sender.uid, groups: connection.groups) }
    }

    private func allowOperators(_ connection: Connection) throws(CollectorError) {
        guard isOperator(connection) else { throw .denied }
    }

    /// Submits a job that takes long.
    private func order(_ work: Job.Work, more: Bool, _ connection: Connection) throws(CollectorError) {
        try allowOperators(connection)
        let job = Job(
            connection: connection.id, question: connection.questionToken, requester: connection.process.sender,
            wantsProgress: more, work: work)
        guard handlers.order(job) else { throw .busy(retryAfter: .seconds(10)) }
        connection.openJobs += 1
        connection.question = .working
        settleSending(of: connection)
    }

    private func flush(_ parameters: FlushParameters, _ connection: Connection) throws(CollectorError) {
        try allowOperators(connection)
        let until = Clock.monotonic.advanced(by: parameters.timeout ?? Self.defaultTimeout)
        let id = connection.id
        let service = service
        guard let count = handlers.flush(parameters.destination, { service.tell { $0.flushed.append(id) } }) else {
            throw .notFound(id: parameters.destination ?? "")
        }
        service.log.began("flush", by: connection.process.sender, String(decoding: parameters.json, as: UTF8.self))
        connection.question = .flushing(parameters, until: until, waitingFor: count)
        if count == 0 { endFlush(parameters, connection) }
    }

    private func endFlush(_ parameters: FlushParameters, _ connection: Connection) {
        service.log.ended("flush", by: connection.process.sender, result: "done")
        connection.question = .single
        job(.destinations(parameters.destination), connection)
    }

    // MARK: Answers

    func handle(_ answer: Answer) {
        if let memory = answer.memory { takenReplies.append(memory) }
        // A withdrawn query may have been answered nevertheless.
        guard let connection = connections[answer.connection], answer.question == connection.questionToken,
            let question = connection.question
        else { return }
        if case .progress = answer.content {} else { connection.openJobs -= 1 }
        touch(connection)
        if isOutdated(question, connection) { return }
        switch (answer.content, question) {
        case (.progress(let reply), .working):
            guard isOperator(connection) else { return }
            connection.replies.add(reply)
            touch(connection)
        case (.reply, .working) where !isOperator(connection), (.fileReply, .working) where !isOperator(connection):
            finish(CollectorError.denied.reply.message, connection)
        case (.reply(let reply), _): finish(reply, connection)
        case (.fileReply(let reply, let file), _):
            if !connection.silent.contains(connection.questionToken) { connection.file = file }
            finish(reply, connection)
        case (.refusal(let error), _): finish(error.reply.message, connection)
        case (.page(let reply, let next?), .pages(var parameters)):
            connection.isFetchingPage = false
            parameters.after = next
            connection.question = .pages(parameters)
            connection.replies.add(reply)
        case (.page(let reply, _), _): finish(reply, connection)
        case (.news(let reply, let row), .following(let filter, _)):
            connection.question = .following(filter, row: row)
            connection.pollGate.looked(mayBeMore: reply != nil)
            if let reply { connection.replies.add(reply) }
        case (.fates(let fates), .awaiting(_, let until)):
            connection.pollGate.looked(mayBeMore: false)
            if fates.contains(where: { $0.fate == .pending }) && Clock.monotonic < until {
                awaitDeadline(of: connection)
                fetchFates(of: connection)
            } else {
                finish(QueryService.reply(AwaitReply(fates: fates)), connection)
            }
        case (.news, _), (.fates, _), (.progress, _):
            // The question was given up before its answer arrived.
            break
        }
    }

    /// Returns whether the client's rights have changed meanwhile. If so, the
    /// question is asked again with the new rights.
    private func isOutdated(_ question: Question, _ connection: Connection) -> Bool {
        guard connection.openJobs == 0, connection.queryViewer != viewer(of: connection) else { return false }
        switch question {
        case .pages(let parameters): job(.records(parameters, more: true), connection)
        case .following(let filter, let row):
            // Row 0 means that the follower's first row is not known yet.
            job(row == 0 && filter.since == nil ? .newest : .news(filter, row: row), connection)
        case .awaiting(let parameters, _): job(.fates(parameters), connection)
        case .single, .flushing, .working: return false
        }
        return true
    }

    /// Sends the last reply to the question.
    private func finish(_ reply: [UInt8], _ connection: Connection) {
        guard connection.question != nil else { return }
        connection.question = nil
        let isSilent = connection.silent.remove(connection.questionToken) != nil
        connection.replies.close(connection.questionToken) { if !isSilent { $0.append(contentsOf: reply) } }
        touch(connection)
        switch connection.session.queryAnswered() {
        case .resume: if connection.held != nil || !connection.frames.wantsBytes { process(connection) }
        case .none: break
        }
    }

    // MARK: Continuing calls

    /// Called when the client has read all replies. Fetches the next page.
    func replySent(_ connection: Connection) {
        if case .pages(let parameters) = connection.question, parameters.after != nil, !connection.isFetchingPage {
            connection.isFetchingPage = true
            job(.records(parameters, more: true), connection)
        } else {
            fetchNewRecords(of: connection)
        }
    }

    /// Called when new records were stored.
    func fetchNewRecords() {
        for connection in connections.values {
            guard case .following = connection.question else { continue }
            connection.pollGate.happened()
            fetchNewRecords(of: connection)
        }
    }

    /// Fetches new records if there may be any and the client has read the
    /// previous ones.
    func fetchNewRecords(of connection: Connection) {
        guard case .following(let filter, let row) = connection.question, connection.replies.unsentCount == 0,
            mayBegin(connection)
        else { return }
        switch connection.pollGate.shouldPoll() {
        case .look: job(.news(filter, row: row), connection)
        case .none: break
        }
    }

    /// Called when the fates of records have changed.
    func fetchFates() {
        for connection in connections.values {
            guard case .awaiting = connection.question else { continue }
            connection.pollGate.happened()
            fetchFates(of: connection)
        }
    }

    private func fetchFates(of connection: Connection) {
        guard case .awaiting(let parameters, _) = connection.question else { return }
        switch connection.pollGate.shouldPoll() {
        case .look: job(.fates(parameters), connection)
        case .none: break
        }
    }

    func flushed(_ id: UInt64) {
        guard let connection = connections[id],
            case .flushing(let parameters, let until, let count) = connection.question
        else { return }
        if count <= 1 {
            endFlush(parameters, connection)
        } else {
            connection.question = .flushing(parameters, until: until, waitingFor: count - 1)
        }
    }

    /// Ends questions whose timeout is over, and answers them with the current
    /// state.
    func checkQueryTimeout(of connection: Connection, at now: MonotonicInstant) {
        switch connection.question {
        case .awaiting(_, let until) where until <= now:
            // The current fates are the answer.
            connection.pollGate.happened()
            fetchFates(of: connection)
        case .flushing(let parameters, let until, _) where until <= now: endFlush(parameters, connection)
        case .awaiting, .flushing, .single, .pages, .following, .working, nil: break
        }
    }

    /// Gives up the question of a client that has disconnected. Calls that it
    /// sent afterwards are still handled.
    func abandonQuery(of connection: Connection) {
        guard connections[connection.id] != nil else { return }
        withdrawJobs(of: connection)
        logAbandonedFlush(of: connection)
        finish([], connection)
    }

    /// Gives up what is being done for the question of a connection, since it is answered without that.
    private func withdrawJobs(of connection: Connection) {
        guard connection.openJobs > 0 else { return }
        handlers.withdraw(connection.id, connection.user.uid)
        // An answer may never come. If these jobs still counted, all of the
        // user's connections would wait for them forever.
        connection.openJobs = 0
        settleSending(of: connection)
    }

    /// Logs the end of a flush whose client is gone.
    func logAbandonedFlush(of connection: Connection) {
        guard case .flushing = connection.question else { return }
        service.log.ended("flush", by: connection.process.sender, result: "given up")
    }

    /// Ends questions that could go on forever, because the daemon stops.
    func endQuery(of connection: Connection) {
        switch connection.question {
        case .following, .pages:
            withdrawJobs(of: connection)
            finish(QueryService.reply(RecordsReply(records: [])), connection)
        case .awaiting, .flushing, .working:
            withdrawJobs(of: connection)
            logAbandonedFlush(of: connection)
            finish(CollectorError.busy(retryAfter: .seconds(1)).reply.message, connection)
        case .single, nil: break
        }
    }
}

/// The state of the question that a connection has asked. A question is any
/// call except `Report`.
enum Question {
    /// Answered by one reply.
    case single
    /// Answered by several pages. The next one is fetched when the client has
    /// read the previous one.
    case pages(RecordsParameters)
    /// New records after this row are sent as they are stored.
    case following(IssueFilter, row: RowID)
    /// Waits for the fates of a record.
    case awaiting(AwaitParameters, until: MonotonicInstant)
    /// Waits until all pending records have been forwarded.
    case flushing(FlushParameters, until: MonotonicInstant, waitingFor: Int)
    /// Waits for a job, which may report its progress.
    case working
}
