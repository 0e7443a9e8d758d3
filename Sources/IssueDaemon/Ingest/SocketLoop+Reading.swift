import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

extension SocketLoop {
    /// Reads available bytes and begins the calls in them.
    func read(_ connection: ClientConnection, isHungUp: Bool) {
        guard connection.state.mayReceive, connection.intake.frames.wantsBytes else { return watch(connection) }
        let maxBytes = mayRead(connection, isHungUp: isHungUp)
        guard maxBytes > 0 else { return }
        switch receive(atMost: maxBytes, connection) {
        case .bytes(let count):
            connection.lastRead = (schedule.round, count)
            connection.user.load.read(count)
            process(connection)
        case .wouldBlock: settleReading(of: connection)
        case .end where !isHungUp:
            // The client has closed its sending side but still receives, so all calls are answered.
            drain(connection)
        case .end, .failed:
            // The client receives no replies, but the reports that were read are stored.
            settleReading(of: connection)
            close(connection)
        }
    }

    private func receive(atMost maxBytes: Int, _ connection: ClientConnection) -> IOResult {
        let ownRoom = connection.intake.frames.ownRoom
        if ownRoom == 0 { connection.intake.frames.borrow(&readBuffer) }
        var result = IOResult.wouldBlock
        connection.intake.frames.receive(atMost: ownRoom == 0 ? maxBytes : min(maxBytes, ownRoom)) { buffer, room in
            result = connection.descriptor.attemptRead(into: &buffer, at: room.lowerBound, atMost: room.count)
            if case .bytes(let count) = result { return count }
            return 0
        }
        return result
    }

    /// Begins the received calls, as far as the limits allow.
    func process(_ connection: ClientConnection) {
        let limits = service.limits
        while connection.state.isOpen, mayBegin(connection), readCalls(of: connection) {}
        submit(connection)
        if let error = connection.intake.keepPartialMessage(
            maxQueryBytes: limits.queryMessageBytes, at: Clock.monotonic)
        {
            end(connection, with: error)
        }
        settleReading(of: connection)
        watch(connection)
        relieveMemory()
    }

    /// Begins a run of received calls.
    ///
    /// - Returns: `true` if there may be more.
    private func readCalls(of connection: ClientConnection) -> Bool {
        let limits = service.limits
        let room = connection.user.load.room(
            unanswered: connection.bytes.inFlight, within: allowance(of: connection.user))
        var counts = ConnectionIntake.Counts()
        let stop = connection.intake.readCalls(
            with: &reader, upTo: room, maxQueryBytes: limits.queryMessageBytes, &counts)
        service.board.counted(rejected: counts.rejectedRecords, duplicates: 0)
        if let redactions = reader.takeRedactions() { service.board.counted(redactions) }
        if counts.reports > 0 { changed(inFlight: counts.bytes, of: connection) }
        if counts.refusedReports > 0 {
            for _ in 0..<counts.refusedReports {
                service.board.countedRefusal(isLackOfResources: false)
            }
            queueSending(to: connection)
        }
        if case .noMessage = stop, counts.reports == 0, counts.refusedReports == 0 { return false }
        // A message was completed, so another connection of the user may be read above the limit.
        connection.user.load.completed(connection.id)
        switch stop {
        case .noMessage, .held: return false
        case .limit:
            if connection.intake.isFull { submit(connection) }
            return true
        case .query(let message, let envelope):
            beginQuery(message, envelope, connection)
            return true
        case .invalid(let error):
            submit(connection)
            end(connection, with: error)
            return false
        }
    }

    /// Hands the decoded reports to the writer.
    private func submit(_ connection: ClientConnection) {
        connection.intake.submit(of: connection.process, handlers.submit)
    }

    /// Sends an error, and closes the connection after that.
    private func end(_ connection: ClientConnection, with error: CollectorError) {
        perform(connection.intake.end(with: error), connection)
    }

    // MARK: Replies

    /// Handles a report that the writer has refused.
    func handle(_ refusal: Refusal) {
        guard let connection = connections[refusal.connection] else { return orphanAnswered(refusal.connection) }
        guard let error = refusal.error else {
            close(connection)
            return orphanAnswered(refusal.connection)
        }
        service.board.countedRefusal(isLackOfResources: error.isLackOfResources)
        answered(connection.intake.refuse(refusal, error), connection)
    }

    /// Continues after replies to reports were written.
    func answered(_ answer: (bytes: Int, action: ConnectionState.AnsweredAction), _ connection: ClientConnection) {
        changed(inFlight: -answer.bytes, of: connection)
        queueSending(to: connection)
        switch answer.action {
        case .resume: process(connection)
        case .none: break
        }
    }

    /// Sends pending replies, as far as the socket accepts them.
    func send(_ connection: ClientConnection) {
        guard !connection.state.isClosed else { return }
        defer { settleSending(of: connection) }
        while connection.intake.replies.unsentCount > 0 {
            let result =
                if let file = connection.file {
                    connection.descriptor.attemptSend(connection.intake.replies.unsent, passing: file.descriptor)
                } else {
                    connection.descriptor.attemptSend(connection.intake.replies.unsent)
                }
            switch result {
            case .bytes(let count):
                connection.file = nil
                connection.intake.replies.sent(count)
                connection.state.sentPart()
            case .wouldBlock:
                connection.state.stalled(at: Clock.monotonic)
                return watch(connection)
            case .end, .failed: return close(connection)
            }
        }
        switch connection.state.sent() {
        case .close: return close(connection)
        case .releaseMemory: connection.intake.releaseMemory()
        case .run(let step): run(step, for: connection)
        case .pollNews: pollNews(of: connection)
        case .none: break
        }
        watch(connection)
    }

    /// Updates the events that the poller reports.
    func watch(_ connection: ClientConnection) {
        updateDeadline(of: connection)
        do throws(Errno) {
            switch connection.state.watch() {
            case .none: break
            case .modify(let events):
                try? poller.modify(connection.descriptor, token: connection.id, for: Interest(events))
            case .add(let events):
                try poller.add(connection.descriptor, token: connection.id, for: Interest(events))
            }
        } catch {
            close(connection)
        }
    }
}

extension Interest {
    fileprivate init(_ events: ConnectionState.Events) {
        self = []
        if events.contains(.reading) { insert(.read) }
        if events.contains(.writing) { insert(.write) }
    }
}

extension CollectorError {
    /// `true` if the daemon lacked space or time, so that the call itself was not at fault.
    fileprivate var isLackOfResources: Bool {
        switch self {
        case .busy, .noSpace: true
        default: false
        }
    }
}
