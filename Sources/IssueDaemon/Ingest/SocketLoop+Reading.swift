import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

extension SocketLoop {
    /// Reads available bytes and begins the calls in them.
    func read(_ connection: Connection, isHungUp: Bool) {
        guard !connection.hasEnded, connection.held == nil, connection.frames.wantsBytes else {
            return watch(connection)
        }
        let most = mayRead(connection, isHungUp: isHungUp)
        guard most > 0 else { return }
        let ownRoom = connection.frames.ownRoom
        if ownRoom == 0 { connection.frames.borrow(&readBuffer) }
        var result = IOResult.wouldBlock
        connection.frames.receive(atMost: ownRoom == 0 ? most : min(most, ownRoom)) { buffer, room in
            result = connection.descriptor.attemptRead(into: &buffer, at: room.lowerBound, atMost: room.count)
            if case .bytes(let count) = result { return count }
            return 0
        }
        switch result {
        case .bytes(let count):
            connection.lastRead = count
            connection.lastRound = round
            connection.user.load.read(count)
            process(connection)
        case .wouldBlock: settleReading(of: connection)
        case .end where !isHungUp:
            // The client has closed its sending side but still receives, so all
            // calls are answered.
            connection.hasEnded = true
            connection.partialSince = nil
            settleReading(of: connection)
            submit(connection)
            touch(connection)
        case .end, .failed:
            // A client that has hung up receives no replies, but reports that
            // were read are stored.
            settleReading(of: connection)
            submit(connection)
            close(connection)
        }
    }

    /// Begins the received calls, as far as the limits allow.
    func process(_ connection: Connection) {
        var isGoingOn = true
        while isGoingOn, !connection.hasEnded, mayBegin(connection) {
            do throws(FrameError) {
                if try takeReportsFast(connection) {
                    if connection.batch.records.count >= Self.maxGathered { submit(connection) }
                    continue
                }
                guard let message = try nextMessage(of: connection) else { break }
                connection.held = nil
                connection.isReceivingReport = false
                // The timeout of a message starts with its own first byte.
                connection.partialSince = nil
                connection.user.load.completed(connection.id)
                isGoingOn = begin(message, connection)
            } catch {
                submit(connection)
                answerLast(.tooLarge(limit: service.limits.messageBytes), connection)
            }
        }
        submit(connection)
        if !mayGrow(connection) {
            answerLast(.tooLarge(limit: service.limits.questionMessageBytes), connection)
            connection.frames = FrameDecoder(limit: service.limits.messageBytes)
        }
        let isPartial = connection.held == nil && !connection.hasEnded && connection.frames.hasPartialFrame
        connection.partialSince = isPartial ? connection.partialSince ?? Clock.monotonic : nil
        settleReading(of: connection)
        watch(connection)
        relieveMemory()
    }

    /// Returns whether the partial message may be received completely. Above a
    /// size, only reports may.
    private func mayGrow(_ connection: Connection) -> Bool {
        guard connection.frames.pendingCount > service.limits.questionMessageBytes, connection.held == nil,
            !connection.isReceivingReport, !connection.hasEnded, connection.frames.hasPartialFrame
        else { return true }
        let message = connection.frames.partialFrame
        if ReportReader.beginsFast(connection.frames[message]) {
            connection.isReceivingReport = true
            return true
        }
        guard let method = CollectorMethod.method(ofMessageBeginningWith: connection.frames[message]) else {
            return true
        }
        connection.isReceivingReport = method == .report
        return connection.isReceivingReport
    }

    private func nextMessage(of connection: Connection) throws(FrameError) -> Range<Int>? {
        if let held = connection.held { return held }
        return try connection.frames.next()
    }

    /// Begins a call, or holds it. Returns whether the next call may be
    /// examined.
    private func begin(_ message: Range<Int>, _ connection: Connection) -> Bool {
        if ReportReader.beginsFast(connection.frames[message]) {
            switch connection.session.reportArrived() {
            case .begin: return reportFast(message, connection)
            case .hold:
                connection.held = message
                return false
            case .drop: return false
            }
        }
        guard let envelope = readEnvelope(message, connection) else { return false }
        let isReport = CollectorMethod(envelope, in: connection.frames[message]) == .report
        guard isReport || message.count <= service.limits.questionMessageBytes else {
            submit(connection)
            answerLast(.tooLarge(limit: service.limits.questionMessageBytes), connection)
            return false
        }
        switch isReport ? connection.session.reportArrived() : connection.session.queryArrived() {
        case .begin: break
        case .hold:
            connection.held = message
            return false
        case .drop: return false
        }
        if isReport {
            report(message, envelope, connection)
        } else {
            let method = JSONScanner(connection.frames[message]).string(envelope.method)
            ask(method, connection.frames[message].json(in: envelope.parameters), envelope, connection)
        }
        return true
    }

    /// Parses the call around its parameters. Returns nil if the message is not
    /// a call, which ends the connection.
    private func readEnvelope(_ message: Range<Int>, _ connection: Connection) -> VarlinkCall.Envelope? {
        do throws(VarlinkError) {
            return try VarlinkCall.Envelope(scanning: connection.frames[message])
        } catch {
            submit(connection)
            answerLast(Self.refusal(of: error), connection)
            return nil
        }
    }

    private static func refusal(of error: VarlinkError) -> CollectorError {
        switch error {
        case .malformed: .invalidParameter("call")
        case .invalid(let field): .invalidParameter(field.field.isEmpty ? "call" : field.field)
        }
    }

    /// Reserves the place of a report's reply. The report's bytes are in flight
    /// until then.
    private func openReport(size: Int, _ connection: Connection) -> UInt64 {
        changed(inFlight: size, of: connection)
        return connection.replies.open(size: size)
    }

    /// Reads a report that is written in the common way, in a single pass.
    private func reportFast(_ message: Range<Int>, _ connection: Connection) -> Bool {
        let token = openReport(size: message.count, connection)
        do throws(CollectorError) {
            let report = try reader.readFast(connection.frames[message], token: token, into: &connection.batch)
            if let report {
                try take(report.call, oneway: report.oneway, connection)
                return true
            }
        } catch {
            return refuse(message, token, error, connection)
        }
        return report(message, token, connection)
    }

    /// Refuses a report, unless the message as a whole is not a call.
    private func refuse(
        _ message: Range<Int>, _ token: UInt64, _ error: CollectorError, _ connection: Connection
    ) -> Bool {
        do throws(VarlinkError) {
            let envelope = try VarlinkCall.Envelope(scanning: connection.frames[message])
            refuse(message, envelope, token, error, connection)
            return true
        } catch {
            refuseLast(token, Self.refusal(of: error), connection)
            return false
        }
    }

    /// Refuses a report. Later numbered reports are refused until it is resent.
    private func refuse(
        _ message: Range<Int>, _ envelope: VarlinkCall.Envelope, _ token: UInt64, _ error: CollectorError,
        _ connection: Connection
    ) {
        if let range = envelope.parameters {
            let place = (message.lowerBound + range.lowerBound)..<(message.lowerBound + range.upperBound)
            if let sequence = ReportReader.sequence(in: connection.frames[place]) {
                connection.session.numbers.refused(sequence)
            }
        }
        if envelope.oneway { connection.silent.insert(token) }
        finishReport(token, connection, refusing: error)
    }

    /// Refuses a report whose message is not a call, and closes the connection
    /// after the reply is sent.
    private func refuseLast(_ token: UInt64, _ error: CollectorError, _ connection: Connection) {
        submit(connection)
        connection.hasEnded = true
        finishReport(token, connection, refusing: error)
    }

    /// Reads a report that is not written in the common way.
    private func report(_ message: Range<Int>, _ token: UInt64, _ connection: Connection) -> Bool {
        do throws(VarlinkError) {
            let envelope = try VarlinkCall.Envelope(scanning: connection.frames[message])
            report(message, envelope, token, connection)
            return true
        } catch {
            refuseLast(token, Self.refusal(of: error), connection)
            return false
        }
    }

    private func report(_ message: Range<Int>, _ envelope: VarlinkCall.Envelope, _ connection: Connection) {
        report(message, envelope, openReport(size: message.count, connection), connection)
    }

    private func report(
        _ message: Range<Int>, _ envelope: VarlinkCall.Envelope, _ token: UInt64, _ connection: Connection
    ) {
        do throws(CollectorError) {
            guard let range = envelope.parameters else { throw .invalidParameter("records") }
            let place = (message.lowerBound + range.lowerBound)..<(message.lowerBound + range.upperBound)
            let call = try reader.read(connection.frames[place], token: token, into: &connection.batch)
            try take(call, oneway: envelope.oneway, connection)
        } catch {
            refuse(message, envelope, token, error, connection)
        }
    }

    /// Adds a decoded call to the next submission.
    private func take(_ call: ReportCall, oneway: Bool, _ connection: Connection) throws(CollectorError) {
        if let sequence = call.numbering?.sequence, connection.session.numbers.arrived(sequence) == .refuse {
            throw .busy(retryAfter: .milliseconds(100))
        }
        service.board.counted(rejected: call.rejected.count, duplicates: 0)
        weigh(call, connection)
        connection.calls.append(call)
        if oneway { connection.silent.insert(call.token) }
        if connection.batch.records.count >= Self.maxGathered { submit(connection) }
    }

    /// Hands the decoded reports to the writer.
    func submit(_ connection: Connection) {
        guard !connection.calls.isEmpty else { return }
        connection.batch = handlers.submit(
            Submission(process: connection.process, batch: connection.batch, calls: connection.calls))
        connection.calls = []
    }

    // MARK: Replies

    func handle(_ refusal: Refusal) {
        guard let connection = connections[refusal.connection] else { return orphanAnswered(refusal.connection) }
        guard let error = refusal.error else {
            close(connection)
            return orphanAnswered(refusal.connection)
        }
        if let sequence = refusal.sequence { connection.session.numbers.refused(sequence) }
        finishReport(refusal.token, connection, refusing: error)
    }

    private func finishReport(_ token: UInt64, _ connection: Connection, refusing error: CollectorError) {
        service.board.countedRefusal()
        let isSilent = !connection.silent.isEmpty && connection.silent.remove(token) != nil
        let size = connection.replies.close(token) { output in
            if !isSilent { output.append(contentsOf: error.reply.message) }
        }
        changed(inFlight: -size, of: connection)
        touch(connection)
        switch connection.session.reportAnswered() {
        case .resume: if connection.held != nil { process(connection) }
        case .none: break
        }
    }

    /// Answers with an error, and closes the connection after the reply is
    /// sent.
    private func answerLast(_ error: CollectorError, _ connection: Connection) {
        let token = connection.replies.open()
        connection.replies.close(token) { $0.append(contentsOf: error.reply.message) }
        connection.hasEnded = true
        touch(connection)
    }

    /// Sends pending replies, as far as the socket accepts them.
    func send(_ connection: Connection) {
        defer { settleSending(of: connection) }
        while connection.replies.unsentCount > 0 {
            let result =
                if let file = connection.file {
                    connection.descriptor.attemptSend(connection.replies.unsent, passing: file.descriptor)
                } else {
                    connection.descriptor.attemptSend(connection.replies.unsent)
                }
            switch result {
            case .bytes(let count):
                connection.file = nil
                connection.replies.sent(count)
                connection.unsentSince = nil
            case .wouldBlock:
                connection.unsentSince = connection.unsentSince ?? Clock.monotonic
                return watch(connection)
            case .end, .failed: return close(connection)
            }
        }
        connection.unsentSince = nil
        if connection.session.isIdle {
            if connection.hasEnded { return close(connection) }
            connection.releaseMemory()
        }
        replySent(connection)
        watch(connection)
    }

    /// Updates the events that the poller reports.
    func watch(_ connection: Connection) {
        guard connections[connection.id] != nil else { return }
        awaitDeadline(of: connection)
        let reads =
            !connection.hasEnded && connection.held == nil && connection.frames.wantsBytes
            && !connection.isWaiting
        let writes = connection.replies.unsentCount > 0
        guard reads != connection.watchesReading || writes != connection.watchesWriting else { return }
        connection.watchesReading = reads
        connection.watchesWriting = writes
        let interest: Interest = reads ? (writes ? [.read, .write] : [.read]) : (writes ? [.write] : [])
        try? poller.modify(connection.descriptor, token: connection.id, for: interest)
    }
}
