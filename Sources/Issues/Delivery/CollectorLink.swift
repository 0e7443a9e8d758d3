internal import IssueWire
internal import UnixIO

/// Waits for a thread's connections and its waker.
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
    /// The meaning of an event.
    enum Wake {
        /// A reply may have arrived.
        case ready
        case none
        case broken
    }

    /// The result of looking for a reply.
    enum Received {
        case nothing
        case reply(VarlinkReply)
        case malformed(String)
        case broken
    }

    let path: String
    private let socket: FileDescriptor
    private let poller: LinkPoller
    private let token: UInt64
    private var output: [UInt8] = []
    private var sent = 0
    private var waitsToWrite = false
    private(set) var isWatched = true
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
        // Otherwise the child's copy would keep the socket in the poller. An error means that it was removed before.
        try? poller.poller.remove(socket)
        try? socket.shutdownBoth()
    }

    /// Sends the text, or buffers what the socket does not accept now. Returns false if the connection is lost.
    func send(_ text: [UInt8]) -> Bool {
        if sent == output.count {
            output = text
            sent = 0
        } else {
            output.append(contentsOf: text)
        }
        return sendPending()
    }

    /// Handles an event of the socket.
    func handle(_ event: PollEvent) -> Wake {
        if event.isWritable, sent < output.count, !sendPending() { return .broken }
        return event.isReadable ? .ready : .none
    }

    /// Returns the next reply if one has arrived.
    func receive() -> Received {
        while true {
            do {
                if let reply = try replies.next() { return .reply(reply) }
            } catch {
                return .malformed("\(error)")
            }
            switch readMore() {
            case .bytes: continue
            case .wouldBlock:
                replies.releaseMemory()
                return .nothing
            case .end, .failed: return .broken
            }
        }
    }

    /// Starts or stops waiting for events of the socket. While stopped, not even its end is noticed.
    ///
    /// - Returns: False if that failed.
    func watch(_ isWatched: Bool) -> Bool {
        guard isWatched != self.isWatched else { return true }
        self.isWatched = isWatched
        do throws(Errno) {
            if isWatched {
                try poller.poller.add(socket, token: token, for: interest)
            } else {
                try poller.poller.remove(socket)
            }
            return true
        } catch {
            return false
        }
    }

    private var interest: Interest { waitsToWrite ? [.read, .write] : .read }

    private func readMore() -> IOResult {
        IOResult(reading: { () throws(Errno) in try replies.read(from: socket, atMost: 16 << 10) })
    }

    private func sendPending() -> Bool {
        while sent < output.count {
            switch socket.attemptSend(output, from: sent) {
            case .bytes(let count): sent += count
            case .wouldBlock: return wait(toWrite: true)
            case .end, .failed: return false
            }
        }
        output = []
        sent = 0
        return wait(toWrite: false)
    }

    private func wait(toWrite: Bool) -> Bool {
        guard toWrite != waitsToWrite else { return true }
        waitsToWrite = toWrite
        return !isWatched || (try? poller.poller.modify(socket, token: token, for: interest)) != nil
    }
}
