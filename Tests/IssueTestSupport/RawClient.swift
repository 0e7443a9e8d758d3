package import IssueProtocol
package import UnixIO

/// A client that sends exactly what it is told to, and sees exactly what comes.
package final class RawClient {
    /// No reply came: the connection ended, or went quiet.
    package enum NoReply: Error, Hashable {
        case closed
        case quiet
    }

    private let socket: FileDescriptor
    private var frames = FrameDecoder(limit: 64 << 20)
    /// The process without which there is no connection.
    private let process: ChildProcess?

    package init(path: String) throws {
        socket = try Socket.connect(to: try .unix(path), timeout: .seconds(10))
        process = nil
    }

    /// Speaks over a connection that somebody else has made.
    package init(over socket: consuming FileDescriptor, keeping process: ChildProcess) throws {
        try socket.setNonBlocking()
        self.socket = socket
        self.process = process
    }

    // MARK: Sending

    package func send(_ bytes: [UInt8]) throws {
        try socket.sendAll(bytes, timeout: .seconds(20))
    }

    package func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// Sends a call, and does not wait for its reply.
    package func begin(
        _ method: String, _ parameters: String = "{}", oneway: Bool = false, more: Bool = false
    ) throws {
        try send(VarlinkCall(method: method, parameters: Array(parameters.utf8), oneway: oneway, more: more).message)
    }

    package func begin(
        _ method: CollectorMethod, _ parameters: some JSONCodable, oneway: Bool = false, more: Bool = false
    ) throws {
        try send(
            VarlinkCall(method: method.fullName, parameters: parameters.json, oneway: oneway, more: more).message)
    }

    /// The same connection for another thread to send over.
    package func duplicate() throws -> FileDescriptor {
        try socket.duplicate()
    }

    package func finishWriting() throws {
        try socket.shutdownWriting()
    }

    // MARK: Receiving

    /// The next reply, be it an error.
    package func reply(within time: Duration = .seconds(30)) throws -> VarlinkReply {
        let deadline = MonotonicClock.now.advanced(by: time)
        while true {
            if let frame = try frames.next() {
                let frames = frames
                return try VarlinkReply(decoding: frames[frame])
            }
            var result = IOResult.wouldBlock
            frames.receive(atMost: 16 << 10) { buffer, room in
                result = socket.attemptRead(into: &buffer, at: room.lowerBound, atMost: room.count)
                guard case .bytes(let count) = result else { return 0 }
                return count
            }
            switch result {
            case .bytes: continue
            case .end, .failed(.connectionReset): throw NoReply.closed
            case .failed(let error): throw error
            case .wouldBlock:
                let rest = MonotonicClock.now.duration(to: deadline)
                guard rest > .zero, try Readiness.wait(socket, for: .read, timeout: rest) else { throw NoReply.quiet }
            }
        }
    }

    /// The next reply's parameters; an error of the daemon is thrown.
    package func answer<Reply: JSONCodable>(
        of: Reply.Type = Reply.self, within time: Duration = .seconds(30)
    ) throws -> Reply {
        let reply = try reply(within: time)
        if let error = CollectorError(reply) { throw error }
        return try Reply(json: reply.parameters)
    }

    /// Whether the daemon closes the connection without another word.
    package func isClosed(within time: Duration = .seconds(30)) throws -> Bool {
        do {
            _ = try reply(within: time)
            return false
        } catch NoReply.closed {
            return true
        } catch NoReply.quiet {
            return false
        }
    }
}
