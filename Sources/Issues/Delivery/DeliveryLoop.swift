internal import IssueWire
internal import Synchronization
internal import UnixIO

/// The loop of the sending thread. It performs the steps of the outbox.
struct DeliveryLoop: ~Copyable {
    private let delivery: Delivery
    private var link: CollectorLink?
    private var poller: LinkPoller?
    private var waker: Waker?

    // An idle connection takes a slot that the daemon could give to another client.
    private static let idleTime: Duration = .seconds(30)
    private static let connectTimeout: Duration = .seconds(5)
    private static let linkToken: UInt64 = 1
    // A reply has at most 500 receipts, so this is more than enough.
    private static let replyLimit = 4 << 20

    init(_ delivery: Delivery) {
        self.delivery = delivery
    }

    consuming func run() {
        delivery.state.withLock { $0.threadID = CurrentProcess.threadID }
        while Forks.heldOff(while: { proceed() }) {}
    }

    /// Performs one step. Returns false when delivery has stopped.
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

    private mutating func nextStep() -> OutboxStep<QueuedReport>? {
        if waker == nil { waker = try? Waker() }
        let waker = waker
        return delivery.state.withLock { state -> OutboxStep<QueuedReport>? in
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
        dropLink()
        delivery.state.withLock { $0.outbox.closedWhileIdle() }
    }

    private mutating func wait(until moment: KernelInstant?) {
        let timeout = moment?.timeLeft
        if let poller {
            waitForLink(on: poller, timeout: timeout)
        } else if let waker {
            _ = try? Readiness.wait(waker.counter.descriptor, for: .read, timeout: timeout)
            waker.counter.take()
        } else {
            // The process has no free descriptor for a waker, so this thread wakes up by itself within a second.
            _ = delivery.pause(min(timeout ?? .seconds(1), .seconds(1)))
        }
    }

    private mutating func waitForLink(on poller: LinkPoller, timeout: Duration?) {
        do throws(Errno) {
            try poller.wait(timeout: timeout)
        } catch {
            return disconnect()
        }
        guard let link, let event = poller.events.first(where: { $0.token == Self.linkToken }) else { return }
        guard link.handle(event) else { return disconnect() }
        if event.isReadable { read() }
    }

    // MARK: Sending

    private mutating func connect() {
        guard let waker else { return disconnect() }
        for path in delivery.paths {
            do {
                let socket = try delivery.trust.connect(to: path, timeout: Self.connectTimeout)
                let poller = try LinkPoller(waker: waker)
                link = try CollectorLink(
                    path: path, socket: socket, poller: poller, token: Self.linkToken, replyLimit: Self.replyLimit)
                self.poller = poller
            } catch {
                if case CollectorConnectionError.untrusted = error,
                    !delivery.hasWarned.exchange(true, ordering: .relaxed)
                {
                    StandardErrorLine.write("\(error)")
                }
                continue
            }
            delivery.state.withLock { $0.outbox.connected() }
            delivery.pickUp(from: path)
            return
        }
        disconnect()
    }

    private mutating func dropLink() {
        link = nil
        poller = nil
    }

    private mutating func disconnect() {
        dropLink()
        let unit = Double.random(in: 0..<1)
        delivery.state.withLock { $0.outbox.disconnected(at: MonotonicClock.now, unit: unit) }
        // Wakes up callers that give up when the daemon is unreachable.
        delivery.state.broadcast()
    }

    private func encode(_ call: OutboxCall<QueuedReport>) {
        let text = ReportEncoder.text(of: call, producer: delivery.producer)
        delivery.state.withLock { $0.outbox.encoded(call.sequence, as: text) }
    }

    private mutating func send(_ text: [UInt8]) {
        guard let link, link.send(text) else { return disconnect() }
        read()
    }

    // MARK: Replies

    private mutating func read() {
        guard let link else { return }
        do throws(CollectorConnectionError) {
            while let reply = try link.receive() {
                guard handle(reply, from: link.path) else { return disconnect() }
            }
        } catch {
            disconnect()
        }
    }

    /// Processes a reply. Returns false if the reply is invalid or answers no call. The connection must then be closed.
    private func handle(_ reply: VarlinkReply, from path: String) -> Bool {
        let answer = ReportResult(reply)
        let now = MonotonicClock.now
        let unit = Double.random(in: 0..<1)
        var settled: [OutboxEntry<QueuedReport>]?
        delivery.state.withLock { state in
            switch answer {
            case .receipts(let receipts):
                settled = state.outbox.answered(receipts: receipts.count, at: now)
            case .tooLarge(let limit):
                settled = state.outbox.refusedAsTooLarge(limit: limit, at: now)
            case .refused:
                settled = state.outbox.refusedPermanently(at: now)
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
        // After the receipts, so that they are complete when a waiting flush returns.
        delivery.state.broadcast()
        return true
    }
}

/// The meaning of a reply to `Report`.
enum ReportResult {
    case receipts([RecordReceipt])
    case later(Duration?)
    case tooLarge(limit: Int)
    case refused(String)
    case malformed

    init(_ reply: VarlinkReply) {
        let error = CollectorError(reply)
        switch error {
        case nil: self = (try? ReportReply(json: reply.parameters)).map { .receipts($0.receipts) } ?? .malformed
        case .tooLarge(let limit): self = .tooLarge(limit: limit)
        case .busy(let delay), .tooSlow(let delay): self = .later(delay)
        case .invalidRecord, .invalidFilter, .invalidParameter, .denied, .expectedMore, .notFound, .unreadable:
            self = .refused(error?.description ?? "")
        case .noSpace, .interfaceNotFound, .methodNotFound, .unknown:
            // The daemon may accept the call once it has disk space or was replaced with another version.
            self = .later(nil)
        }
    }

    /// Returns the outcome for the record at an index of the call. `path` is the socket of the daemon.
    func outcome(at index: Int, path: String) -> ReceiptState.StoreResult {
        switch self {
        case .receipts(let receipts):
            switch receipts[index] {
            case .stored(let id), .duplicate(let id?): .success(ReceiptState.Stored(id: id, path: path))
            case .duplicate(nil):
                .failure(IssueDeliveryError(.unidentified, "The issue is stored, but its id is no longer known."))
            case .rejected(let field, let reason):
                .failure(IssueDeliveryError(.rejected, field.map { "\($0): \(reason)" } ?? reason))
            }
        case .refused(let reason):
            .failure(IssueDeliveryError(.rejected, reason))
        case .tooLarge:
            .failure(IssueDeliveryError(.rejected, "The record is larger than the daemon allows."))
        case .later, .malformed:
            .failure(IssueDeliveryError(.malformed, "The daemon sent an invalid reply."))
        }
    }
}
