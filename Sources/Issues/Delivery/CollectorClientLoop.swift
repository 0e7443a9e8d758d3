internal import IssueWire
internal import UnixIO

/// The loop of a client's thread.
struct CollectorClientLoop: ~Copyable {
    private let client: CollectorClient
    private let poller: LinkPoller
    // There are only a few, so a linear search is fast enough.
    private var channels: [CallChannel] = []

    private init(_ client: CollectorClient, _ poller: LinkPoller) {
        self.client = client
        self.poller = poller
    }

    /// Runs until no connection is left.
    static func run(_ client: CollectorClient, _ waker: Waker) {
        Forks.heldOff {
            do throws(Errno) {
                var loop = CollectorClientLoop(client, try LinkPoller(waker: waker))
                while loop.proceed() {}
            } catch {
                client.failAll(error)
            }
        }
    }

    /// Performs one step. Returns false when the thread has nothing more to do.
    private mutating func proceed() -> Bool {
        guard let requests = client.takeRequests(endsIfNone: channels.isEmpty) else { return false }
        for request in requests { add(request) }
        let now = MonotonicClock.now
        var wake: KernelInstant?
        for channel in channels {
            channel.step(at: now)
            if channel.isDone(at: now) {
                channel.close()
            } else if let next = channel.nextStep {
                wake = min(wake ?? next, next)
            }
        }
        channels.removeAll { $0.isDone(at: now) }
        if !channels.isEmpty { wait(until: wake) }
        return true
    }

    private mutating func wait(until time: KernelInstant?) {
        do throws(Errno) {
            try poller.wait(timeout: time?.timeLeft)
        } catch {
            // The application has closed the poller's descriptor. After this thread has ended, the next call starts a
            // thread with a new poller.
            for channel in channels { channel.fail() }
            channels = []
            return
        }
        let now = MonotonicClock.now
        for event in poller.events { channel(withToken: event.token)?.handle(event, at: now) }
    }

    /// Returns the connection with a token; nil if there is none. The id of a stream is the token of its connection.
    private func channel(withToken token: UInt64) -> CallChannel? {
        channels.first { $0.token == token }
    }

    // MARK: Requests

    private mutating func add(_ request: CollectorClient.Request) {
        switch request {
        case .call(let call, let endpoint, let onOwnConnection):
            work(at: endpoint, isShared: !onOwnConnection, or: CallQueue()).add(call)
        case .fates(let record, let endpoint):
            work(at: endpoint, isShared: true, or: AwaitQueue()).add(record)
        case .begin(let stream, let message, let reply, let endpoint):
            // A finished reply means that the task was cancelled. The stream's end may have been processed already.
            guard !reply.isFinished else { return }
            addChannel(for: StreamCall(message: message, reply: reply), at: endpoint, isShared: false, token: stream)
        case .part(let stream, let reply):
            guard let call = channel(withToken: stream)?.work as? StreamCall, call.isActive else {
                reply.finish(.failure(CollectorConnectionError.closed))
                return
            }
            call.await(reply)
        case .end(let stream): (channel(withToken: stream)?.work as? StreamCall)?.end(.closed)
        }
    }

    /// Returns the work of this type on a shared connection to an endpoint. If there is none, or if the work must not
    /// be shared, adds a connection for new work.
    private mutating func work<Work: CallWork>(
        at endpoint: CollectorClient.Endpoint, isShared: Bool, or new: @autoclosure () -> Work
    ) -> Work {
        for channel in channels where isShared && channel.isShared && channel.endpoint == endpoint {
            if let work = channel.work as? Work { return work }
        }
        let work = new()
        addChannel(for: work, at: endpoint, isShared: isShared)
        return work
    }

    private mutating func addChannel(
        for work: any CallWork, at endpoint: CollectorClient.Endpoint, isShared: Bool,
        token: UInt64 = UniqueToken.next()
    ) {
        channels.append(
            CallChannel(
                work, at: endpoint, poller: poller, token: token, isShared: isShared,
                idleTime: isShared ? client.idleTime : .zero))
    }
}

/// A connection of a client's thread. It is opened when its calls need it.
private final class CallChannel {
    let work: any CallWork
    let endpoint: CollectorClient.Endpoint
    let token: UInt64
    let isShared: Bool
    private let poller: LinkPoller
    private let idleTime: Duration

    private var link: CollectorLink?
    /// Whether the daemon has replied on this connection.
    private var hasReplied = false
    /// Whether the buffer may contain a reply that no task wants yet.
    private var hasUnread = false
    private var failedAttempts = 0
    private var nextAttempt: KernelInstant?
    private var idleSince: KernelInstant?
    /// The time at which an attempt to connect fails if the daemon's listen queue is still full. Nil if no attempt is
    /// in progress.
    private var connectDeadline: KernelInstant?

    private static let connectTimeout: Duration = .seconds(5)
    // The kernel does not report when a listen queue has room again.
    private static let fullQueueDelay: Duration = .milliseconds(20)

    init(
        _ work: any CallWork, at endpoint: CollectorClient.Endpoint, poller: LinkPoller, token: UInt64, isShared: Bool,
        idleTime: Duration
    ) {
        self.work = work
        self.endpoint = endpoint
        self.poller = poller
        self.token = token
        self.isShared = isShared
        self.idleTime = idleTime
    }

    /// Performs the work that is possible now.
    func step(at now: KernelInstant) {
        if !work.removeFinished(at: now) { close() }
        if work.isActive { advance(at: now) }
        // The work may have ended just now.
        idleSince = work.isActive ? nil : idleSince ?? now
    }

    private func advance(at now: KernelInstant) {
        if link == nil { connect(at: now) }
        if let link, let message = work.nextMessage(at: now), !link.send(message) { lost(.closed, at: now) }
        if let link, !link.watch(work.wantsReplies) { return lost(.closed, at: now) }
        if hasUnread { receive(at: now) }
    }

    /// Returns `true` if the channel can be removed.
    func isDone(at now: KernelInstant) -> Bool {
        guard let idleSince else { return false }
        return link == nil || now >= idleSince.advanced(by: idleTime)
    }

    /// When the next step is due if no event arrives earlier. Nil if none is due.
    var nextStep: KernelInstant? {
        if let idleSince { return idleSince.advanced(by: idleTime) }
        guard var send = work.nextSend else { return work.deadline }
        if link == nil, let nextAttempt { send = max(send, nextAttempt) }
        return work.deadline.map { min($0, send) } ?? send
    }

    func handle(_ event: PollEvent, at now: KernelInstant) {
        guard let link else { return }
        guard link.handle(event) else { return lost(.closed, at: now) }
        if event.isReadable { receive(at: now) }
    }

    /// Closes the connection, which also cancels a query in the daemon.
    func close() {
        link?.close()
        link = nil
    }

    /// Ends all calls.
    func fail() {
        close()
        work.disconnected(.closed, wasUsed: false)
        work.connectFailed(.closed, at: MonotonicClock.now)
        // Also ends the calls that would otherwise be repeated.
        _ = work.removeFinished(at: KernelInstant(nanoseconds: .max))
    }

    // MARK: Connecting

    private func connect(at now: KernelInstant) {
        guard let time = work.nextSend, time <= now, nextAttempt ?? now <= now else { return }
        let deadline = connectDeadline ?? now.advanced(by: Self.connectTimeout)
        connectDeadline = deadline
        do throws(CollectorConnectionError) {
            link = try endpoint.trust.connect(toFirstOf: endpoint.paths, timeout: .zero) {
                [poller, token] path, socket throws(CollectorConnectionError) in
                try CollectorLink(
                    path: path, socket: socket, poller: poller, token: token, replyLimit: CollectorConnection.replyLimit
                )
            }
            connectDeadline = nil
            nextAttempt = nil
            hasReplied = false
            hasUnread = false
        } catch .unreachable(_, .wouldBlock) where now < deadline {
            nextAttempt = now.advanced(by: Self.fullQueueDelay)
        } catch .unreachable(let path, .wouldBlock) {
            connectFailed(.unreachable(path: path, .timedOut), at: now)
        } catch {
            connectFailed(error, at: now)
        }
    }

    private func connectFailed(_ error: CollectorConnectionError, at now: KernelInstant) {
        connectDeadline = nil
        delayNextAttempt(at: now)
        work.connectFailed(error, at: now)
    }

    private func delayNextAttempt(at now: KernelInstant) {
        nextAttempt = now.advanced(by: .milliseconds(min(500, 20 << min(failedAttempts, 5))))
        failedAttempts += 1
    }

    // MARK: Replies

    private func receive(at now: KernelInstant) {
        do throws(CollectorConnectionError) {
            while let link {
                hasUnread = !work.wantsReplies
                guard !hasUnread, let reply = try link.receive() else { return }
                hasReplied = true
                failedAttempts = 0
                if !work.received(reply, at: now) { return close() }
            }
        } catch {
            lost(error, at: now)
        }
    }

    private func lost(_ error: CollectorConnectionError, at now: KernelInstant) {
        close()
        if !hasReplied { delayNextAttempt(at: now) }
        work.disconnected(error, wasUsed: hasReplied)
    }
}
