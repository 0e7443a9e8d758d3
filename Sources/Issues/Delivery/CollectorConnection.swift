package import IssueWire
package import UnixIO

/// A connection for sequential calls to the daemon.
///
/// Waiting for a reply blocks the calling thread.
package struct CollectorConnection: ~Copyable {
    private let socket: FileDescriptor
    /// Whether descriptors that are passed with replies are kept. Otherwise the kernel closes them.
    private var receivesFiles = false
    /// A closure, and the delay after which it is called if no reply to a call has arrived. Nil for none. Has no effect
    /// on `exchange` and `stream`, or on a call whose timeout is nil or not longer than the delay.
    package var delayNotice: (delay: Duration, action: () -> Void)?
    private var passedFile: FileDescriptor?
    private var replies = ReplyReader(limit: CollectorConnection.replyLimit)

    /// The maximum size of a reply to a query, in bytes. Replies are smaller, since the daemon ends a page with the
    /// entry that brings it to 1 MiB, and a record has at most 16 MiB (`MaxRecordSize=`).
    static let replyLimit = 64 << 20

    /// Connects to the first path with a trusted server.
    ///
    /// - Parameters:
    ///   - paths: The paths to try, in order. Empty if delivery is disabled.
    ///   - trust: Decides which servers are trusted.
    ///   - timeout: The timeout for all paths together.
    /// - Throws: The most helpful error of the failed attempts; `disabled` if there are no paths.
    package init(
        paths: [String] = SocketPath.search(), trust: ServerTrust = .process, timeout: Duration = .seconds(5)
    ) throws(CollectorConnectionError) {
        socket = try trust.connect(toFirstOf: paths, timeout: timeout) { _, socket in socket }
    }

    /// Calls a method and returns its single reply.
    ///
    /// - Parameters:
    ///   - method: The full name of the method, with its interface.
    ///   - parameters: The parameters, a JSON object.
    ///   - timeout: The timeout for sending the call and receiving the reply. Nil waits indefinitely.
    /// - Returns: The parameters of the reply, a JSON object.
    /// - Throws: `refused` if the daemon replies with an error, `malformed` if the reply is invalid, and `timedOut` or
    ///   `closed` if none arrives.
    package mutating func call(
        _ method: String, json parameters: [UInt8], timeout: Duration? = .seconds(45)
    ) throws(CollectorConnectionError) -> [UInt8] {
        let deadline = timeout.map { MonotonicClock.now.advanced(by: $0) }
        try send(VarlinkCall(method: method, parameters: parameters).message, deadline: deadline)
        try noticeDelay(deadline: deadline)
        return try accepted(deadline: deadline).parameters
    }

    /// Calls a method and passes each part of its reply to a closure. There is no timeout.
    ///
    /// - Parameters:
    ///   - method: The full name of the method, with its interface.
    ///   - parameters: The parameters, a JSON object.
    ///   - receivesFile: `true` to keep a descriptor that is passed with a part. Otherwise the kernel closes it.
    ///   - onReply: Receives a part. Returns false to stop; the connection cannot be used again then.
    /// - Returns: The passed file; nil if there is none. The peer may pass any kind of descriptor, so check its status
    ///   before reading from it.
    /// - Throws: `refused` if the daemon replies with an error, `malformed` if a part is invalid, and `closed` if the
    ///   connection ends before the last part.
    @discardableResult
    package mutating func stream(
        _ method: String, json parameters: [UInt8], receivesFile: Bool = false, onReply: ([UInt8]) -> Bool
    ) throws(CollectorConnectionError) -> PassedFile? {
        receivesFiles = receivesFile
        defer { receivesFiles = false }
        try send(VarlinkCall(method: method, parameters: parameters, more: true).message, deadline: nil)
        while true {
            let part = try accepted(deadline: nil)
            guard onReply(part.parameters), part.continues else { break }
        }
        guard let file = passedFile.take() else { return nil }
        return PassedFile(file)
    }

    /// Sends an encoded call, which must end with NUL, and returns its single reply. An error reply is returned, not
    /// thrown.
    mutating func exchange(_ message: [UInt8], timeout: Duration) throws(CollectorConnectionError) -> VarlinkReply {
        let deadline = MonotonicClock.now.advanced(by: timeout)
        try send(message, deadline: deadline)
        return try reply(deadline: deadline)
    }

    /// Waits until the reply begins to arrive or the delay of `delayNotice` has passed. In the latter case, calls its
    /// action.
    ///
    /// Does nothing if there is no deadline, or if the deadline would pass before the delay.
    private func noticeDelay(deadline: KernelInstant?) throws(CollectorConnectionError) {
        guard let delayNotice, let deadline, MonotonicClock.now.duration(to: deadline) > delayNotice.delay
        else { return }
        do throws(Errno) {
            if try !Readiness.wait(socket, for: .read, timeout: delayNotice.delay) { delayNotice.action() }
        } catch {
            throw Self.lost(error)
        }
    }

    // MARK: Messages

    private func send(_ message: [UInt8], deadline: KernelInstant?) throws(CollectorConnectionError) {
        do throws(Errno) {
            try socket.sendAll(message, timeout: deadline?.timeLeft)
        } catch {
            throw Self.lost(error)
        }
    }

    private mutating func reply(deadline: KernelInstant?) throws(CollectorConnectionError) -> VarlinkReply {
        while true {
            if let reply = try replies.next() { return reply }
            do throws(Errno) {
                guard try Readiness.wait(socket, for: .read, timeout: deadline?.timeLeft) else { throw Errno.timedOut }
                let count =
                    receivesFiles
                    ? try replies.read(from: socket, atMost: 64 << 10, passed: &passedFile)
                    : try replies.read(from: socket, atMost: 64 << 10)
                guard count > 0 else { throw Errno.connectionReset }
            } catch .wouldBlock {
                continue
            } catch {
                throw Self.lost(error)
            }
        }
    }

    private mutating func accepted(deadline: KernelInstant?) throws(CollectorConnectionError) -> VarlinkReply {
        let reply = try reply(deadline: deadline)
        if let error = CollectorError(reply) { throw .refused(error) }
        return reply
    }

    private static func lost(_ error: Errno) -> CollectorConnectionError {
        error == .timedOut ? .timedOut : .closed
    }
}

/// Wakes up a thread that waits for answers, new issues or calls.
final class Waker: Sendable {
    let counter: EventCounter

    init() throws(Errno) {
        counter = try EventCounter()
    }

    func wake() {
        counter.signal()
    }
}

/// Waits for events of a thread's connections and of its waker.
final class LinkPoller {
    /// The token of the waker's events. Connections have other tokens.
    static let wakerToken: UInt64 = 0

    fileprivate let poller: Poller
    private let waker: Waker
    /// The events of the last wait.
    private(set) var events: [PollEvent] = []

    init(waker: Waker) throws(Errno) {
        self.waker = waker
        poller = try Poller(capacity: 16)
        try poller.add(waker.counter.descriptor, token: Self.wakerToken, for: .read)
    }

    /// Waits until a connection is ready or the waker is used.
    ///
    /// - Parameter timeout: The maximum time to wait. Nil waits indefinitely.
    func wait(timeout: Duration?) throws(Errno) {
        try poller.wait(into: &events, timeout: timeout)
        if events.contains(where: { $0.token == Self.wakerToken }) { waker.counter.take() }
    }
}

/// A non-blocking connection to the daemon.
///
/// It must be used on one thread only.
final class CollectorLink {
    let path: String
    private let socket: FileDescriptor
    private let poller: LinkPoller
    private let token: UInt64
    private var output: [UInt8] = []
    private var sent = 0
    private var waitsToWrite = false
    private var isWatched = true
    private var replies: ReplyReader

    /// Adds a connected, non-blocking socket to a poller. `replyLimit` is the maximum size of a reply, in bytes.
    init(
        path: String, socket: consuming FileDescriptor, poller: LinkPoller, token: UInt64, replyLimit: Int
    ) throws(CollectorConnectionError) {
        self.path = path
        self.socket = socket
        self.poller = poller
        self.token = token
        replies = ReplyReader(limit: replyLimit)
        do throws(Errno) {
            try poller.poller.add(self.socket, token: token, for: .read)
        } catch {
            throw .unreachable(path: path, error)
        }
    }

    /// Ends the connection, even if a forked child holds the socket too.
    func close() {
        // Otherwise the child's copy would keep the socket in the poller. An error means that it is already removed.
        try? poller.poller.remove(socket)
        try? socket.shutdownBoth()
    }

    /// Sends the text, and buffers what the socket does not accept now. Returns false if the connection is lost.
    func send(_ text: [UInt8]) -> Bool {
        if sent == output.count {
            output = text
            sent = 0
        } else {
            output.append(contentsOf: text)
        }
        return sendPending()
    }

    /// Sends buffered text if an event says that the socket accepts it. Returns false if the connection is lost.
    func handle(_ event: PollEvent) -> Bool {
        !event.isWritable || sendPending()
    }

    /// Returns the next reply; nil if none has arrived.
    ///
    /// - Throws: `malformed` if a reply is invalid, and `closed` if the connection is lost.
    func receive() throws(CollectorConnectionError) -> VarlinkReply? {
        while true {
            if let reply = try replies.next() { return reply }
            switch IOResult(reading: { () throws(Errno) in try replies.read(from: socket, atMost: 16 << 10) }) {
            case .bytes: continue
            case .wouldBlock:
                replies.releaseMemory()
                return nil
            case .end, .failed: throw .closed
            }
        }
    }

    /// Starts or stops waiting for events of the socket. Without events, even the end of the connection is not noticed.
    ///
    /// - Returns: False if the poller reported an error.
    func watch(_ isWatched: Bool) -> Bool {
        guard isWatched != self.isWatched else { return true }
        self.isWatched = isWatched
        guard isWatched else { return (try? poller.poller.remove(socket)) != nil }
        return (try? poller.poller.add(socket, token: token, for: interest)) != nil
    }

    private var interest: Interest { waitsToWrite ? [.read, .write] : .read }

    private func sendPending() -> Bool {
        while sent < output.count {
            switch socket.attemptSend(output, from: sent) {
            case .bytes(let count): sent += count
            case .wouldBlock: return setWaitsToWrite(true)
            case .end, .failed: return false
            }
        }
        output = []
        sent = 0
        return setWaitsToWrite(false)
    }

    /// Sets whether the poller waits until the socket is writable. Returns false if that failed.
    private func setWaitsToWrite(_ waits: Bool) -> Bool {
        guard waits != waitsToWrite else { return true }
        waitsToWrite = waits
        return !isWatched || (try? poller.poller.modify(socket, token: token, for: interest)) != nil
    }
}

/// The reason why a call to the daemon failed.
package enum CollectorConnectionError: Error, Equatable, Sendable {
    /// `ISSUED_SOCKET` is set to an empty string.
    case disabled
    /// The path is not valid for a socket.
    case unusablePath(InvalidSocketAddress)
    /// The connection to this path failed. If several paths were tried, this is the most helpful error.
    case unreachable(path: String, Errno)
    /// The socket, its folder or its server is not trusted.
    case untrusted(path: String, reason: String)
    /// The daemon replied with an error.
    case refused(CollectorError)
    /// The connection ended before the reply.
    case closed
    /// The reply did not arrive in time.
    case timedOut
    /// The reply was invalid.
    case malformed(String)
}

extension CollectorConnectionError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .disabled: "Delivery is disabled because ISSUED_SOCKET is empty."
        case .unusablePath(let error): error.description
        case .unreachable(let path, let error): "Cannot connect to the daemon at \(path): \(error)."
        case .untrusted(let path, let reason):
            "The socket at \(path) is not trusted: \(reason)."
                + (ServerTrust.isAboutUser(reason)
                    ? " To trust another user's daemon, set ISSUED_SOCKET_USER to the user's name." : "")
        case .refused(let error): error.description
        case .closed: "The daemon closed the connection."
        case .timedOut: "The daemon did not answer in time."
        case .malformed(let reason): "The daemon sent an invalid reply: \(reason)."
        }
    }
}

extension IssueDeliveryError {
    package init(_ error: CollectorConnectionError) {
        let code: Code =
            switch error {
            case .disabled: .disabled
            case .unusablePath, .unreachable, .untrusted, .closed: .unreachable
            case .refused(.notFound): .notFound
            case .refused(.denied): .denied
            case .refused: .refused
            case .timedOut: .timedOut
            case .malformed: .malformed
            }
        self.init(code, error.description)
    }

    /// Creates the error for a query. `destination` is the destination that the query names, which may not exist; nil
    /// if it names none.
    package init(_ error: CollectorConnectionError, destination: String?) {
        if let destination, error == .refused(.notFound(id: destination)) {
            self.init(.notFound, "There is no destination named \(destination).")
        } else if destination != nil, case .refused(.invalidFilter("destination", let reason)) = error {
            self.init(.notFound, "\(reason.prefix(1).uppercased())\(reason.dropFirst()).")
        } else {
            self.init(error)
        }
    }
}

/// Decodes replies from the bytes of a connection.
struct ReplyReader: Sendable {
    private var frames: FrameDecoder

    init(limit: Int) {
        frames = FrameDecoder(limit: limit)
    }

    /// Returns the next complete reply; nil if more bytes are needed. Throws `malformed` if the reply is invalid.
    mutating func next() throws(CollectorConnectionError) -> VarlinkReply? {
        do {
            guard let frame = try frames.next() else { return nil }
            return try VarlinkReply(decoding: frames[frame])
        } catch {
            throw .malformed("\(error)")
        }
    }

    /// Reads at most `count` available bytes. Returns the number of bytes, or 0 at the end of the stream.
    mutating func read(from socket: borrowing FileDescriptor, atMost count: Int) throws(Errno) -> Int {
        try frames.receive(atMost: count) { buffer, room throws(Errno) in
            try socket.read(into: &buffer, at: room.lowerBound, atMost: room.count)
        }
    }

    /// Reads at most `count` available bytes, and the descriptor that was passed with them, if any.
    mutating func read(
        from socket: borrowing FileDescriptor, atMost count: Int, passed file: inout FileDescriptor?
    ) throws(Errno) -> Int {
        var buffer = [UInt8](repeating: 0, count: count)
        let received = try socket.receive(into: &buffer, at: 0, atMost: count, passed: &file)
        frames.receive(buffer.span.extracting(0..<received))
        return received
    }

    mutating func releaseMemory() {
        frames.releaseMemory()
    }
}
