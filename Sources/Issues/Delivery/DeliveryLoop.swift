internal import IssueWire
internal import Synchronization
internal import UnixIO

/// The thread that does what the outbox decides.
struct DeliveryLoop: ~Copyable {
    private let delivery: Delivery
    private var link: CollectorLink?
    private var waker: Waker?

    // A connection that nobody needs is a slot that the daemon could give to others.
    private static let idleTime: Duration = .seconds(30)
    private static let connectTimeout: Duration = .seconds(5)

    init(_ delivery: Delivery) {
        self.delivery = delivery
    }

    consuming func run() {
        delivery.state.withLock { $0.threadID = CurrentProcess.threadID }
        // A child uses the same code, so nothing of the runtime may be half made at the fork.
        while Forks.heldOff(while: { proceed() }) {}
    }

    /// Takes one step; false at the end.
    private mutating func proceed() -> Bool {
        guard let step = nextStep() else { return false }
        switch step {
        case .idle: waitIdle()
        case .wait(let moment): wait(until: moment)
        case .connect: connect()
        case .encode(let call): encode(call)
        case .send(let text): send(text)
        case .disconnect: disconnect()
        }
        return true
    }

    private mutating func nextStep() -> OutboxStep<Submission>? {
        if waker == nil { waker = try? Waker() }
        let waker = waker
        return delivery.state.withLock { state -> OutboxStep<Submission>? in
            guard !state.isStopped else { return nil }
            state.waker = waker
            let step = state.outbox.next(at: MonotonicClock.now)
            switch step {
            case .idle, .wait: state.isAsleep = true
            case .connect, .encode, .send, .disconnect: state.isAsleep = false
            }
            return step
        }
    }

    // MARK: Waiting

    private mutating func waitIdle() {
        guard link != nil else { return wait(until: nil) }
        let deadline = MonotonicClock.now.advanced(by: Self.idleTime)
        wait(until: deadline)
        guard MonotonicClock.now >= deadline, link != nil else { return }
        link = nil
        delivery.state.withLock { $0.outbox.closedWhileIdle() }
    }

    private mutating func wait(until moment: KernelInstant?) {
        let timeout = moment.map { max(.zero, MonotonicClock.now.duration(to: $0)) }
        if let link {
            switch link.wait(timeout: timeout) {
            case .ready: read()
            case .woken: break
            case .broken: disconnect()
            }
        } else if let waker {
            _ = try? Readiness.wait(waker.counter.descriptor, for: .read, timeout: timeout)
        } else {
            // No descriptor is to be had; look again from time to time.
            let retry = MonotonicClock.now.advanced(by: min(timeout ?? .seconds(1), .seconds(1)))
            Forks.admitted {
                _ = delivery.state.wait(deadline: retry) { state -> Bool? in state.isStopped ? true : nil }
            }
        }
        waker?.counter.take()
    }

    // MARK: Sending

    private mutating func connect() {
        guard let waker else { return disconnect() }
        for path in delivery.paths {
            do {
                link = try CollectorLink(
                    path: path, trust: delivery.trust, waker: waker, timeout: Self.connectTimeout)
            } catch {
                if case CollectorConnectionError.untrusted = error { complain("\(error)") }
                continue
            }
            delivery.state.withLock { $0.outbox.connected() }
            delivery.pickUp(from: path)
            return
        }
        disconnect()
    }

    /// Writes once to standard error that a server is not trusted and gets no reports.
    private func complain(_ text: String) {
        guard !delivery.hasComplained.exchange(true, ordering: .relaxed) else { return }
        StandardErrorLine.write(text)
    }

    private mutating func disconnect() {
        link = nil
        let unit = Double.random(in: 0..<1)
        delivery.state.withLock { $0.outbox.disconnected(at: MonotonicClock.now, unit: unit) }
        // Whoever is in a hurry learns now that the daemon is away.
        delivery.state.broadcast()
    }

    private func encode(_ call: OutboxCall<Submission>) {
        let text = ReportCall.text(of: call, producer: delivery.producer)
        delivery.state.withLock { $0.outbox.encoded(call.sequence, as: text) }
    }

    private mutating func send(_ text: [UInt8]) {
        guard let link, link.send(text) else { return disconnect() }
        read()
    }

    // MARK: Answers

    private mutating func read() {
        guard let link else { return }
        while true {
            switch link.receive() {
            case .nothing: return
            case .reply(let reply):
                guard take(reply, from: link.path) else { return disconnect() }
            case .broken: return disconnect()
            }
        }
    }

    /// Acts on an answer; false when it is none that we can go on after.
    private func take(_ reply: VarlinkReply, from path: String) -> Bool {
        let answer = ReportAnswer(reply)
        let now = MonotonicClock.now
        let unit = Double.random(in: 0..<1)
        var settled: [OutboxEntry<Submission>]?
        delivery.state.withLock { state in
            switch answer {
            case .receipts(let receipts):
                settled = state.outbox.answered(receipts: receipts.count, at: now)
            case .tooLarge(let limit):
                settled = state.outbox.refusedAsTooLarge(limit: limit, at: now)
            case .refused:
                settled = state.outbox.refusedForGood(at: now)
            case .later(let delay):
                settled = state.outbox.refusedForNow(retryAfter: delay, at: now, unit: unit) ? [] : nil
            case .malformed:
                settled = nil
            }
        }
        guard let settled else { return false }
        for (index, entry) in settled.enumerated() {
            entry.payload.receipt?.complete(answer.outcome(at: index, path: path))
        }
        // After the receipts, so that who returns from a flush finds them complete.
        delivery.state.broadcast()
        return true
    }
}
