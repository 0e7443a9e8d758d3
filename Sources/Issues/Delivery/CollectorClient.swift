package import IssueWire
internal import Synchronization
internal import UnixIO

/// Makes calls to the daemon on behalf of tasks.
///
/// All tasks of the process share one thread. For each socket, they share one connection for queries and one for
/// awaiting fates, since the daemon processes the calls of a connection one after another. Streams, and operations that
/// may take long or must not be repeated, have connections of their own.
///
/// The thread starts with the first call. A shared connection closes when no task has used it for a while, and the
/// thread ends with the last connection. A cancelled task stops waiting immediately.
package final class CollectorClient: Sendable {
    /// The socket that a call is sent to.
    package struct Endpoint: Equatable, Sendable {
        let paths: [String]
        private let isNamed: Bool

        /// Creates an endpoint.
        ///
        /// - Parameter socket: The path of a socket. Nil uses `ISSUED_SOCKET` or, if it is not set, the first of the
        ///   standard paths with a reachable and trusted server.
        package init(socket: String?) {
            paths = SocketPath.candidates(socket)
            isNamed = socket != nil
        }

        /// Creates the endpoint of a socket that was found earlier.
        init(found path: String) {
            paths = [path]
            isNamed = false
        }

        var trust: ServerTrust { .socket(isNamed ? paths.first : nil) }
    }

    /// A request of a task to the thread.
    enum Request: Sendable {
        case call(QueuedCall, Endpoint, onOwnConnection: Bool)
        case fates(AwaitedRecord, Endpoint)
        /// Begins a stream and waits for its first part.
        case begin(stream: UInt64, message: [UInt8], PendingReply, Endpoint)
        /// Waits for another part of a stream.
        case part(stream: UInt64, PendingReply)
        case end(stream: UInt64)
    }

    private struct State: Sendable {
        var requests: [Request] = []
        /// Not nil while the thread runs.
        var waker: Waker?
    }

    private let state = Mutex(State())
    let idleTime: Duration
    private let processID: Int32
    private let successor = AtomicLazyReference<CollectorClient>()

    /// Creates a client. Its thread starts with the first call.
    ///
    /// - Parameters:
    ///   - idleTime: How long a shared connection stays open while no task uses it.
    ///   - processID: The id of this process. In any other process, ``ofThisProcess`` creates a new client.
    package init(idleTime: Duration = .seconds(2), processID: Int32 = CurrentProcess.pid) {
        self.idleTime = idleTime
        self.processID = processID
    }

    private static let first = CollectorClient()

    /// The client that all tasks of this process share.
    package static var current: CollectorClient { first.ofThisProcess }

    /// The client of this process: this object, or a new one after a fork.
    ///
    /// The thread of an inherited client exists in the parent only.
    package var ofThisProcess: CollectorClient {
        let processID = CurrentProcess.pid
        var client = self
        while client.processID != processID {
            client = client.successor.load() ?? client.successor.storeIfNil(CollectorClient(idleTime: client.idleTime))
        }
        return client
    }

    /// Whether the thread is running. For tests.
    package var isRunning: Bool { state.withLock { $0.waker != nil } }

    // MARK: Calls

    /// Calls a method and returns its single reply.
    ///
    /// - Parameters:
    ///   - method: The method. On the shared connection, calling the method twice must be harmless: if the daemon
    ///     closes a reused connection before replying, the call is repeated once.
    ///   - parameters: The parameters, a JSON object.
    ///   - endpoint: The daemon's socket.
    ///   - timeout: The timeout for everything together: connecting, waiting for earlier calls on the shared
    ///     connection, and the reply. Nil waits indefinitely.
    ///   - usesOwnConnection: `true` if the call may take long, or if calling the method twice is not harmless. It
    ///     is then never repeated.
    /// - Returns: The parameters of the reply, a JSON object.
    /// - Throws: ``CollectorConnectionError``, or `CancellationError` if the task is cancelled.
    package func call(
        _ method: CollectorMethod, json parameters: [UInt8], at endpoint: Endpoint, timeout: Duration? = .seconds(45),
        usesOwnConnection: Bool = false
    ) async throws -> [UInt8] {
        let call = QueuedCall(
            message: VarlinkCall(method: method.fullName, parameters: parameters).message,
            deadline: timeout.map { MonotonicClock.now.advanced(by: $0) })
        return try await value(of: call.reply) {
            submit(.call(call, endpoint, onOwnConnection: usesOwnConnection))
        }.parameters
    }

    /// Waits until no fate of a record is pending, or until the timeout. If the first lookup has neither succeeded nor
    /// failed by then, waits up to 15 seconds longer.
    ///
    /// - Parameters:
    ///   - parameters: The record, the destination and the timeout. A nil timeout means 30 seconds.
    ///   - endpoint: The daemon's socket.
    ///   - retries: `true` to try again until the timeout if the daemon cannot be reached or is busy.
    /// - Returns: The fates. Some may be pending after the timeout.
    /// - Throws: ``CollectorConnectionError``, or `CancellationError` if the task is cancelled.
    package func fates(_ parameters: AwaitParameters, at endpoint: Endpoint, retries: Bool) async throws -> AwaitReply {
        let record = AwaitedRecord(
            id: parameters.id, destination: parameters.destination,
            deadline: MonotonicClock.now.advanced(by: parameters.timeout ?? .seconds(30)), retries: retries)
        let reply = try await value(of: record.reply) { submit(.fates(record, endpoint)) }
        do throws(FieldError) {
            return try AwaitReply(json: reply.parameters)
        } catch {
            throw CollectorConnectionError.malformed(error.description)
        }
    }

    /// Prepares a call with any number of replies. It is sent when its first reply is awaited.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - parameters: The parameters, a JSON object.
    ///   - endpoint: The daemon's socket.
    package func stream(_ method: CollectorMethod, json parameters: [UInt8], at endpoint: Endpoint) -> CollectorStream {
        let call = VarlinkCall(method: method.fullName, parameters: parameters, more: true)
        return CollectorStream(client: self, endpoint: endpoint, message: call.message)
    }

    /// Waits for a reply. `begin` submits the request.
    func value(of reply: PendingReply, begin: () -> Void) async throws -> VarlinkReply {
        try await reply.value(begin: begin) { wake() }
    }

    // MARK: The thread

    /// Passes a request to the thread, and starts the thread if it does not run.
    func submit(_ request: Request) {
        do throws(Errno) {
            let (waker, starts) = try add(request)
            guard starts else { return waker.wake() }
            _ = try Thread.start(name: "issues-query") { [self] in CollectorClientLoop.run(self, waker) }
        } catch {
            failAll(error)
        }
    }

    private func add(_ request: Request) throws(Errno) -> (waker: Waker, starts: Bool) {
        try state.withLock { state throws(Errno) in
            // Added first, so that the request fails with the others if there is no descriptor for a waker.
            state.requests.append(request)
            if let waker = state.waker { return (waker, false) }
            let waker = try Waker()
            state.waker = waker
            return (waker, true)
        }
    }

    /// Passes the end of a stream to the thread. If the thread does not run, no stream is open.
    func endStream(_ id: UInt64) {
        let waker = state.withLock { state in
            if state.waker != nil { state.requests.append(.end(stream: id)) }
            return state.waker
        }
        waker?.wake()
    }

    /// Makes the thread look for requests whose tasks no longer wait.
    private func wake() {
        state.withLock { $0.waker }?.wake()
    }

    /// Fails all requests that the thread has not taken. Called if the thread cannot run.
    func failAll(_ error: Errno) {
        let requests = state.withLock { state in
            defer { state = State() }
            return state.requests
        }
        for request in requests { request.fail(error) }
    }

    /// Takes the new requests.
    ///
    /// - Parameter endsIfNone: `true` if the thread ends when there are no requests.
    /// - Returns: The requests. Nil if the thread must end.
    func takeRequests(endsIfNone: Bool) -> [Request]? {
        state.withLock { state in
            if endsIfNone, state.requests.isEmpty {
                state = State()
                return nil
            }
            defer { state.requests = [] }
            return state.requests
        }
    }
}

extension CollectorClient.Request {
    func fail(_ error: Errno) {
        switch self {
        case .call(let call, let endpoint, _): call.reply.finish(.failure(endpoint.unreachable(error)))
        case .fates(let record, let endpoint): record.reply.finish(.failure(endpoint.unreachable(error)))
        case .begin(_, _, let reply, let endpoint): reply.finish(.failure(endpoint.unreachable(error)))
        case .part(_, let reply): reply.finish(.failure(CollectorConnectionError.closed))
        case .end: break
        }
    }
}

extension CollectorClient.Endpoint {
    fileprivate func unreachable(_ error: Errno) -> CollectorConnectionError {
        paths.first.map { .unreachable(path: $0, error) } ?? .disabled
    }
}

/// A call with any number of replies, on a separate connection.
///
/// The connection closes when this object is released.
package final class CollectorStream: Sendable {
    private let client: CollectorClient
    private let endpoint: CollectorClient.Endpoint
    private let message: [UInt8]
    private let id = UniqueToken.next()
    private let isBegun = Atomic(false)

    init(client: CollectorClient, endpoint: CollectorClient.Endpoint, message: [UInt8]) {
        self.client = client
        self.endpoint = endpoint
        self.message = message
    }

    deinit {
        client.ofThisProcess.endStream(id)
    }

    /// Waits for the next reply. Must not be called again before it returns. After the last reply, throws `closed`.
    ///
    /// - Returns: The parameters of the reply, a JSON object. `continues` is `true` if another reply follows.
    /// - Throws: ``CollectorConnectionError``, or `CancellationError` if the task is cancelled. After any error, the
    ///   stream has ended.
    package func next() async throws -> (parameters: [UInt8], continues: Bool) {
        let (id, client) = (id, client.ofThisProcess)
        let reply = PendingReply()
        let part = try await withTaskCancellationHandler {
            try await client.value(of: reply) {
                if isBegun.exchange(true, ordering: .relaxed) {
                    client.submit(.part(stream: id, reply))
                } else {
                    client.submit(.begin(stream: id, message: message, reply, endpoint))
                }
            }
        } onCancel: {
            // The reply is finished first, because the end of the stream would finish it with another error.
            reply.finish(.failure(CancellationError()))
            client.endStream(id)
        }
        return (part.parameters, part.continues)
    }
}

typealias PendingReply = PendingResult<VarlinkReply>

/// Creates tokens for connections. Each is unique in the process.
enum UniqueToken {
    private static let last = Atomic(LinkPoller.wakerToken)

    static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}
