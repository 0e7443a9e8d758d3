package import IssueWire
package import UnixIO

/// A connection for questions to the daemon, one after the other.
///
/// Every call blocks the calling thread until its answer is there.
package struct CollectorConnection: ~Copyable {
    /// The socket that answered.
    package let path: String
    private let socket: FileDescriptor
    /// `true` while descriptors that come with replies are kept; otherwise the kernel closes them.
    private var takesFiles = false
    private var passedFile: FileDescriptor?
    private var replies = ReplyReader(limit: CollectorConnection.replyLimit)

    // A page of a thousand of the largest records would not fit; the daemon's pages are smaller.
    private static let replyLimit = 64 << 20

    /// Connects to the first of the paths where a trusted server answers.
    package init(
        paths: [String] = SocketPath.search(), trust: ServerTrust = .process, timeout: Duration = .seconds(5)
    ) throws(CollectorConnectionError) {
        var failure = CollectorConnectionError.switchedOff
        for path in paths {
            do throws(CollectorConnectionError) {
                socket = try trust.connect(to: path, timeout: timeout)
                self.path = path
                return
            } catch {
                failure = Self.moreTelling(failure, error)
            }
        }
        throw failure
    }

    /// Calls a method and waits for its one reply.
    package mutating func call<Reply: JSONCodable>(
        _ method: CollectorMethod, _ parameters: some JSONCodable, returning: Reply.Type = Reply.self,
        timeout: Duration? = .seconds(45)
    ) throws(CollectorConnectionError) -> Reply {
        try Self.decode(try call(method.fullName, json: parameters.json, timeout: timeout))
    }

    /// Calls a method that takes no parameters.
    package mutating func call<Reply: JSONCodable>(
        _ method: CollectorMethod, returning: Reply.Type = Reply.self, timeout: Duration? = .seconds(45)
    ) throws(CollectorConnectionError) -> Reply {
        try Self.decode(try call(method.fullName, json: Array("{}".utf8), timeout: timeout))
    }

    /// Calls a method by its full name; parameters and answer are JSON.
    package mutating func call(
        _ method: String, json parameters: [UInt8], timeout: Duration? = .seconds(45)
    ) throws(CollectorConnectionError) -> [UInt8] {
        let deadline = timeout.map { MonotonicClock.now.advanced(by: $0) }
        try send(VarlinkCall(method: method, parameters: parameters).message, deadline: deadline)
        return try accepted(deadline: deadline).parameters
    }

    /// Calls a method and hands over each part of its reply until it ends, or `onReply` answers false.
    ///
    /// The timeout counts anew for each part; without one it waits for ever.
    /// After a false the connection is good for nothing more: an answer that
    /// never ends is only ended by closing it.
    package mutating func stream<Reply: JSONCodable>(
        _ method: CollectorMethod, _ parameters: some JSONCodable, of: Reply.Type = Reply.self,
        timeout: Duration? = .seconds(45), onReply: (Reply) -> Bool
    ) throws(CollectorConnectionError) {
        var failure: CollectorConnectionError?
        try stream(method.fullName, json: parameters.json, timeout: timeout) { json in
            do throws(CollectorConnectionError) {
                return onReply(try Self.decode(json))
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }

    /// Calls a method by its full name and hands over each part of its reply, as JSON.
    package mutating func stream(
        _ method: String, json parameters: [UInt8], timeout: Duration? = .seconds(45), onReply: ([UInt8]) -> Bool
    ) throws(CollectorConnectionError) {
        try begin(method, json: parameters, timeout: timeout)
        while true {
            let part = try accepted(deadline: timeout.map { MonotonicClock.now.advanced(by: $0) })
            guard onReply(part.parameters), part.continues else { return }
        }
    }

    /// Calls a method as `stream` does, and returns the descriptor that was passed along with the replies, if any.
    ///
    /// It is whatever the other side has opened: look at its status before it is read.
    package mutating func streamTakingFile(
        _ method: String, json parameters: [UInt8], timeout: Duration? = .seconds(45), onReply: ([UInt8]) -> Bool
    ) throws(CollectorConnectionError) -> FileDescriptor? {
        takesFiles = true
        defer { takesFiles = false }
        try stream(method, json: parameters, timeout: timeout, onReply: onReply)
        return passedFile.take()
    }

    /// Sends a call that is encoded already, with the NUL behind it, and waits for its one reply, be it an error.
    mutating func exchange(_ message: [UInt8], timeout: Duration) throws(CollectorConnectionError) -> VarlinkReply {
        let deadline = MonotonicClock.now.advanced(by: timeout)
        try send(message, deadline: deadline)
        return try reply(deadline: deadline)
    }

    // MARK: A reply in parts, whenever the caller wants the next

    /// Calls a method whose reply comes in parts, for ``nextPart(timeout:)`` to take.
    package mutating func begin(
        _ method: String, json parameters: [UInt8], timeout: Duration?
    ) throws(CollectorConnectionError) {
        let call = VarlinkCall(method: method, parameters: parameters, more: true)
        try send(call.message, deadline: timeout.map { MonotonicClock.now.advanced(by: $0) })
    }

    /// Waits for the next part of a reply that has not ended.
    package mutating func nextPart<Reply: JSONCodable>(timeout: Duration?) throws(CollectorConnectionError) -> Reply {
        try Self.decode(try accepted(deadline: timeout.map { MonotonicClock.now.advanced(by: $0) }).parameters)
    }

    /// What ends the connection while this thread waits on it.
    package func hangUp() throws(CollectorConnectionError) -> HangUp {
        do throws(Errno) {
            return HangUp(try socket.duplicate())
        } catch {
            throw .unreachable(path: path, error)
        }
    }

    // MARK: One message

    private func send(_ message: [UInt8], deadline: KernelInstant?) throws(CollectorConnectionError) {
        let timeout = deadline.map { max(.zero, MonotonicClock.now.duration(to: $0)) }
        do throws(Errno) {
            try socket.sendAll(message, timeout: timeout)
        } catch {
            throw Self.lost(error)
        }
    }

    private mutating func reply(deadline: KernelInstant?) throws(CollectorConnectionError) -> VarlinkReply {
        while true {
            do {
                if let reply = try replies.next() { return reply }
            } catch {
                throw .malformed("\(error)")
            }
            do throws(Errno) {
                let timeout = deadline.map { max(.zero, MonotonicClock.now.duration(to: $0)) }
                guard try Readiness.wait(socket, for: .read, timeout: timeout) else { throw Errno.timedOut }
                let count =
                    takesFiles
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

    private static func decode<Reply: JSONCodable>(_ json: [UInt8]) throws(CollectorConnectionError) -> Reply {
        do throws(FieldError) {
            return try Reply(json: json)
        } catch {
            throw .malformed(error.description)
        }
    }

    /// Of two failures the one that a person can do more about: a socket that exists over one that does not.
    private static func moreTelling(
        _ first: CollectorConnectionError, _ second: CollectorConnectionError
    ) -> CollectorConnectionError {
        guard case .unreachable(_, .noSuchFile) = second, first != .switchedOff else { return second }
        if case .unreachable(_, .noSuchFile) = first { return second }
        return first
    }

    private static func lost(_ error: Errno) -> CollectorConnectionError {
        error == .timedOut ? .timedOut : .closed
    }
}
