import TestSockets
import UnixIO

/// Serves the requests of a connection.
struct ConnectionService: Sendable {
    /// The state of the connection after a response.
    enum Next: Hashable, Sendable {
        case anotherRequest
        case close
        case reset
        /// The connection is reset as soon as another request begins.
        case resetOnNext
    }

    let control: ListenerControl
    let socket: OpenSocket
    let number: Int

    var core: ListenerCore { control.core }

    func run() {
        var input = HTTPInput(socket)
        var next = Next.anotherRequest
        var ordinal = 0
        while input.waitForRequest() {
            if next == .resetOnNext { next = .reset }
            guard next == .anotherRequest else { break }
            ordinal += 1
            next = serve(&input, ordinal: ordinal)
            guard next == .anotherRequest || next == .resetOnNext else { break }
        }
        if next == .reset { try? socket.descriptor.setResetOnClose() }
    }

    private func serve(_ input: inout HTTPInput, ordinal: Int) -> Next {
        let (number, nth, isSilent) = core.state.withLock { $0.requestBegan() }
        var request = RecordedRequest(
            number: number, connection: self.number, ordinal: ordinal, arrived: MonotonicClock.now)
        if isSilent {
            request.fault = Fault.acceptSilent.name
            decide(request)
            socket.waitForEnd()
            return .close
        }

        let head: RequestHead
        do throws(ConnectionEnd) {
            head = try input.head()
        } catch {
            return refuse(request, error)
        }
        request.method = head.method
        request.target = head.targetWithoutToken
        request.headers = head.headers
        let fault = core.state.withLock { $0.plan.headArrived(head, nth: nth) }
        request.fault = fault?.name

        if case .tooLargeEarly(let reset) = fault {
            return answerEarly(request, &input, reset: reset)
        }
        var body: [UInt8] = []
        do throws(ConnectionEnd) {
            try read(&input, head, fault, into: &body)
        } catch {
            request.wireBytes = body.count
            return refuse(request, error)
        }
        request.wireBytes = body.count
        if case .resetMidBody = fault {
            decide(request)
            return .reset
        }

        let tokens = core.state.withLock { $0.tokens }
        let decision = core.rules.evaluate(head, body: body, tokens: tokens, under: fault)
        request.inflatedBytes = decision.inflatedBytes
        request.counters = decision.counters
        let isUnanswered = fault?.leavesUnanswered == true || decision.answer.status == 0
        request.status = isUnanswered ? nil : decision.answer.status
        decide(request, decision, typeInQuery: head.query("type"))

        // A port fault takes effect before the response is sent, so that the client can rely on it.
        let isCut = control.applyPortFaults()
        let (isComplete, next) = deliver(decision.answer, under: fault, keepsAlive: head.keepsAlive)
        core.state.withLock { $0.answered(number, completely: isComplete) }
        core.state.broadcast()
        if isCut {
            control.controlledPort.cutConnections()
            return .close
        }
        return next
    }

    private func read(
        _ input: inout HTTPInput, _ head: RequestHead, _ fault: Fault?, into body: inout [UInt8]
    ) throws(ConnectionEnd) {
        if head.expectsContinue { try? socket.descriptor.sendAll(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
        if case .slowRead(let bytesPerSecond) = fault {
            // Otherwise the kernel would receive much of the body in advance.
            try? socket.descriptor.setReceiveBuffer(bytes: 4096)
            try input.body(of: head, piece: max(1, bytesPerSecond / 20), into: &body) { count in
                core.pause(.seconds(1) * count / bytesPerSecond)
            }
        } else if case .resetMidBody(let after) = fault {
            try input.body(of: head, atMost: after, into: &body)
        } else {
            try input.body(of: head, into: &body)
        }
    }

    /// Responds before the body was read.
    private func answerEarly(_ request: RecordedRequest, _ input: inout HTTPInput, reset: Bool) -> Next {
        var request = request
        request.status = 413
        decide(request)
        let isComplete = send(HTTPAnswer(status: 413).bytes(closing: true))
        core.state.withLock { $0.answered(request.number, completely: isComplete) }
        core.state.broadcast()
        guard !reset else { return .reset }
        // Closing with unread bytes would cause a reset, which can overtake the response.
        try? socket.descriptor.shutdownWriting()
        input.drain()
        return .close
    }

    /// Handles input that cannot be read any further.
    private func refuse(_ request: RecordedRequest, _ end: ConnectionEnd) -> Next {
        var request = request
        switch end {
        case .closed: break
        case .failed: break
        case .malformed: request.status = 400
        case .tooLarge: request.status = 413
        }
        decide(request)
        guard let status = request.status else { return .close }
        let isComplete = send(HTTPAnswer(status: status).bytes(closing: true))
        core.state.withLock { $0.answered(request.number, completely: isComplete) }
        return .close
    }

    private func decide(_ request: RecordedRequest, _ decision: AdmissionDecision? = nil, typeInQuery: String? = nil) {
        core.state.withLock {
            $0.decided(request, lines: decision?.accepted ?? [], typeInQuery: typeInQuery)
        }
        core.state.broadcast()
    }

    func send(_ bytes: [UInt8]) -> Bool {
        (try? socket.descriptor.sendAll(bytes)) != nil
    }
}
