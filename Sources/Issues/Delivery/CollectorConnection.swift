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

/// Work that blocks, for tasks.
package enum BlockingCall {
    /// Does the work on a thread of its own.
    package static func onThread<Value: Sendable>(
        _ work: @escaping @Sendable () throws(DeliveryError) -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let body: @Sendable () -> Void = { continuation.resume(with: Result { try work() }) }
            do throws(Errno) {
                _ = try Thread.start(name: "issues-ask", body: body)
            } catch {
                continuation.resume(
                    throwing: DeliveryError(.unreachable, "No thread could be started to ask the daemon: \(error)."))
            }
        }
    }
}

/// Why a question to the daemon has no answer.
package enum CollectorConnectionError: Error, Equatable, Sendable {
    /// `ISSUED_SOCKET` is set and empty.
    case switchedOff
    /// The path is none that a socket can have.
    case unusablePath(InvalidSocketAddress)
    /// Nobody answers at this path, the likeliest one.
    case unreachable(path: String, Errno)
    /// The socket or its server belongs to a user who is not trusted with reports.
    case untrusted(path: String, reason: String)
    /// The daemon said no.
    case refused(CollectorError)
    /// The connection ended before the answer.
    case closed
    /// The answer did not come in time.
    case timedOut
    /// What came was no answer to the call.
    case malformed(String)
}

extension CollectorConnectionError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .switchedOff: "ISSUED_SOCKET is empty, so there is no daemon to ask."
        case .unusablePath(let error): error.description
        case .unreachable(let path, let error): "No daemon answers at \(path): \(error)."
        case .untrusted(let path, let reason):
            "The socket at \(path) is not trusted: \(reason). If that user is to have this user's issues, "
                + "name it in ISSUED_SOCKET_USER."
        case .refused(let error): error.description
        case .closed: "The daemon closed the connection."
        case .timedOut: "The daemon did not answer in time."
        case .malformed(let reason): "The daemon's answer makes no sense: \(reason)."
        }
    }
}

extension DeliveryError {
    package init(_ error: CollectorConnectionError) {
        let code: Code =
            switch error {
            case .switchedOff: .disabled
            case .unusablePath, .unreachable, .untrusted, .closed: .unreachable
            case .refused(.notFound): .notFound
            case .refused(.denied), .refused(.permissionDenied): .denied
            case .refused: .refused
            case .timedOut: .timedOut
            case .malformed: .malformed
            }
        self.init(code, error.description)
    }

    /// The error of a question about a destination, which may be what was not found.
    package init(_ error: CollectorConnectionError, destination: String?) {
        if let destination, error == .refused(.notFound(id: destination)) {
            self.init(.notFound, "There is no destination named \(destination).")
        } else {
            self.init(error)
        }
    }
}

/// Ends a connection from another thread than the one that waits on it.
package final class HangUp: Sendable {
    private let socket: FileDescriptor

    init(_ socket: consuming FileDescriptor) {
        self.socket = socket
    }

    package func now() {
        // Whoever waits sees the end; one that has ended already is no matter.
        try? socket.shutdownBoth()
    }
}

/// Makes replies of the bytes that a connection gives.
struct ReplyReader: Sendable {
    private var frames: FrameDecoder

    init(limit: Int) {
        frames = FrameDecoder(limit: limit)
    }

    /// The next whole reply, if there is one.
    mutating func next() throws -> VarlinkReply? {
        guard let frame = try frames.next() else { return nil }
        return try VarlinkReply(decoding: frames[frame])
    }

    /// Reads what is there, up to so much; 0 is the end.
    mutating func read(from socket: borrowing FileDescriptor, atMost count: Int) throws(Errno) -> Int {
        try frames.receive(atMost: count) { buffer, room throws(Errno) in
            try socket.read(into: &buffer, at: room.lowerBound, atMost: room.count)
        }
    }

    /// Reads what is there, and takes the descriptor that was passed along with it, if any.
    mutating func read(
        from socket: borrowing FileDescriptor, atMost count: Int, passed file: inout FileDescriptor?
    ) throws(Errno) -> Int {
        // A closure can't borrow an argument that is changed, nor copy a descriptor.
        var buffer = [UInt8](repeating: 0, count: count)
        let received = try socket.receive(into: &buffer, at: 0, atMost: count, passed: &file)
        frames.receive(buffer.span.extracting(0..<received))
        return received
    }

    mutating func releaseMemory() {
        frames.releaseMemory()
    }
}
