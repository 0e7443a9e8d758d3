package import IssueProtocol
import TestSockets
package import UnixIO

/// A client that sends exactly the given bytes and returns exactly what it receives.
package final class RawClient {
    /// No reply arrived: the connection was closed, or nothing was received in time.
    package enum NoReply: Error, Hashable {
        case closed
        case quiet
    }

    private let socket: FileDescriptor
    private var frames = FrameDecoder(limit: 64 << 20)
    /// The process that holds the other end of the connection.
    private let process: ChildProcess?

    package init(path: String) throws {
        socket = try Socket.connect(to: try .unix(path), timeout: testTimeout)
        process = nil
    }

    /// Uses a connection that was made elsewhere.
    package init(over socket: consuming FileDescriptor, keeping process: ChildProcess) throws {
        try socket.setNonBlocking()
        self.socket = socket
        self.process = process
    }

    // MARK: Sending

    package func send(_ bytes: [UInt8]) throws {
        try socket.sendAll(bytes, timeout: testTimeout)
    }

    package func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// Sends a call and does not wait for its reply.
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

    /// Returns a duplicate of the descriptor, on which another thread can send.
    package func duplicate() throws -> FileDescriptor {
        try socket.duplicate()
    }

    package func finishWriting() throws {
        try socket.shutdownWriting()
    }

    // MARK: Receiving

    /// Returns the next reply, even if it is an error. Throws `NoReply` if there is none.
    package func reply(within time: Duration = testTimeout) throws -> VarlinkReply {
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

    /// Returns the parameters of the next reply. Throws `CollectorError` if the reply is an error.
    package func answer<Reply: JSONCodable>(
        of: Reply.Type = Reply.self, within time: Duration = testTimeout
    ) throws -> Reply {
        let reply = try reply(within: time)
        if let error = CollectorError(reply) { throw error }
        return try Reply(json: reply.parameters)
    }

    /// Returns `true` if the daemon closes the connection without sending anything else.
    package func isClosed(within time: Duration = testTimeout) throws -> Bool {
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
