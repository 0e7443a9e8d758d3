internal import IssueWire
internal import UnixIO

/// The loop of a client's thread.
struct CollectorClientLoop: ~Copyable {
    private struct SharedKey: Hashable {
        var place: CollectorClient.Place
        var isForFates: Bool
    }

    private let client: CollectorClient
    private let poller: LinkPoller
    /// The connections by the tokens of their events. The token of a stream is its id.
    private var channels: [UInt64: CallChannel] = [:]
    private var sharedTokens: [SharedKey: UInt64] = [:]

    private init(_ client: CollectorClient, _ poller: LinkPoller) {
        self.client = client
        self.poller = poller
    }

    /// Runs until no connection is left.
    static func run(_ client: CollectorClient, _ waker: Waker) {
        // A forked child runs the same code, so the runtime must not be in the middle of a change when a fork happens.
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
        for (token, channel) in channels {
            channel.step(at: now)
            if channel.isDone(at: now) {
                remove(channel, token)
            } else if let next = channel.nextStep {
                wake = min(wake ?? next, next)
            }
        }
        if !channels.isEmpty { wait(until: wake) }
        return true
    }

    private mutating func remove(_ channel: CallChannel, _ token: UInt64) {
        channel.close()
        channels[token] = nil
        if let key = sharedTokens.first(where: { $0.value == token })?.key { sharedTokens[key] = nil }
    }

    private mutating func wait(until time: KernelInstant?) {
        do throws(Errno) {
            try poller.wait(timeout: time.map { max(.zero, MonotonicClock.now.duration(to: $0)) })
        } catch {
            // The application has closed the poller's descriptor. The next call starts with a new one.
            for (token, channel) in channels {
                channel.fail()
                remove(channel, token)
            }
            return
        }
        let now = MonotonicClock.now
        for event in poller.events { channels[event.token]?.handle(event, at: now) }
    }

    // MARK: Requests

    private mutating func add(_ request: CollectorClient.Request) {
        switch request {
        case .call(let call, let place, onOwnConnection: true):
            let queue = CallQueue()
            queue.add(call)
            addChannel(for: queue, at: place, token: UniqueToken.next(), idleTime: .zero)
        case .call(let call, let place, onOwnConnection: false):
            shared(SharedKey(place: place, isForFates: false)) { CallQueue() }.add(call)
        case .fates(let record, let place):
            shared(SharedKey(place: place, isForFates: true)) { AwaitQueue() }.add(record)
        case .begin(let stream, let message, let reply, let place):
            // Otherwise the task was cancelled, and the stream's end may have come before its beginning.
            guard !reply.isFinished else { return }
            addChannel(for: StreamCall(message: message, reply: reply), at: place, token: stream, idleTime: .zero)
        case .part(let stream, let reply):
            guard let call = channels[stream]?.work as? StreamCall, call.isActive else {
                reply.finish(.failure(CollectorConnectionError.closed))
                return
            }
            call.await(reply)
        case .end(let stream): (channels[stream]?.work as? StreamCall)?.end(.closed)
        }
    }

    /// Returns the work of a shared connection. Creates it if it does not exist.
    private mutating func shared<Work: CallWork>(_ key: SharedKey, make: () -> Work) -> Work {
        if let token = sharedTokens[key], let work = channels[token]?.work as? Work { return work }
        let work = make()
        let token = UniqueToken.next()
        addChannel(for: work, at: key.place, token: token, idleTime: client.idleTime)
        sharedTokens[key] = token
        return work
    }

    private mutating func addChannel(
        for work: any CallWork, at place: CollectorClient.Place, token: UInt64, idleTime: Duration
    ) {
        channels[token] = CallChannel(work, at: place, poller: poller, token: token, idleTime: idleTime)
    }
}

/// A connection of a client's thread, which is opened when its work needs it.
private final class CallChannel {
    let work: any CallWork
    private let place: CollectorClient.Place
    private let poller: LinkPoller
    private let token: UInt64
    private let idleTime: Duration

    private var link: CollectorLink?
    /// Whether the daemon has replied on this connection.
    private var hasReplied = false
    /// Whether a reply that was not wanted may have been read together with the one before.
    private var hasUnread = false
    private var failedAttempts = 0
    private var nextAttempt: KernelInstant?
    private var idleSince: KernelInstant?
    /// When the attempts to connect to a daemon with a full backlog end.
    private var connectDeadline: KernelInstant?

    private static let connectTimeout: Duration = .seconds(5)
    // The kernel does not report when a backlog has room again.
    private static let backlogDelay: Duration = .milliseconds(20)
    // A page of a thousand records of maximum size would exceed this; the daemon's pages are smaller.
    private static let replyLimit = 64 << 20

    init(
        _ work: any CallWork, at place: CollectorClient.Place, poller: LinkPoller, token: UInt64, idleTime: Duration
    ) {
        self.work = work
        self.place = place
        self.poller = poller
        self.token = token
        self.idleTime = idleTime
    }

    /// Does what can be done now.
    func step(at now: KernelInstant) {
        if !work.removeFinished(at: now) { close() }
        guard work.isActive else {
            idleSince = idleSince ?? now
            return
        }
        idleSince = nil
        if link == nil { connect(at: now) }
        if let link, let message = work.nextMessage(at: now), !link.send(message) { lost(.closed, at: now) }
        if let link, link.isWatched != work.wantsReplies {
            guard link.watch(work.wantsReplies) else { return lost(.closed, at: now) }
        }
        if hasUnread { receive(at: now) }
    }

    /// Whether the channel can be removed.
    func isDone(at now: KernelInstant) -> Bool {
        guard let idleSince else { return false }
        return link == nil || now >= idleSince.advanced(by: idleTime)
    }

    /// When the next step is due if nothing happens before. Nil if none is.
    var nextStep: KernelInstant? {
        if let idleSince { return idleSince.advanced(by: idleTime) }
        guard var send = work.nextSend else { return work.deadline }
        if link == nil, let nextAttempt { send = max(send, nextAttempt) }
        return work.deadline.map { min($0, send) } ?? send
    }

    func handle(_ event: PollEvent, at now: KernelInstant) {
        guard let link else { return }
        switch link.handle(event) {
        case .ready: receive(at: now)
        case .none: break
        case .broken: lost(.closed, at: now)
        }
    }

    /// Closes the connection, which also cancels a query in the daemon.
    func close() {
        link?.close()
        link = nil
    }

    /// Fails all calls.
    func fail() {
        close()
        work.disconnected(.closed, wasUsed: false)
        work.connectFailed(.closed, at: MonotonicClock.now)
        // Also those that would try again.
        _ = work.removeFinished(at: KernelInstant(nanoseconds: .max))
    }

    // MARK: Connecting

    private func connect(at now: KernelInstant) {
        guard let time = work.nextSend, time <= now, nextAttempt ?? now <= now else { return }
        let deadline = connectDeadline ?? now.advanced(by: Self.connectTimeout)
        connectDeadline = deadline
        do throws(CollectorConnectionError) {
            link = try place.trust.connect(toFirstOf: place.paths, timeout: .zero) {
                [poller, token] path, socket throws(CollectorConnectionError) in
                try CollectorLink(
                    path: path, socket: socket, poller: poller, token: token, replyLimit: Self.replyLimit)
            }
            connectDeadline = nil
            nextAttempt = nil
            hasReplied = false
            hasUnread = false
        } catch .unreachable(_, .wouldBlock) where now < deadline {
            nextAttempt = now.advanced(by: Self.backlogDelay)
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
        while let link {
            hasUnread = !work.wantsReplies
            guard !hasUnread else { return }
            switch link.receive() {
            case .nothing: return
            case .reply(let reply):
                hasReplied = true
                failedAttempts = 0
                if !work.received(reply, at: now) { return close() }
            case .malformed(let reason): return lost(.malformed(reason), at: now)
            case .broken: return lost(.closed, at: now)
            }
        }
    }

    private func lost(_ error: CollectorConnectionError, at now: KernelInstant) {
        close()
        if !hasReplied { delayNextAttempt(at: now) }
        work.disconnected(error, wasUsed: hasReplied)
    }
}
