import TestSockets
import UnixIO

/// A client that sends exactly the given bytes and returns exactly the received ones.
final class RawClient {
    /// How a wait for bytes ended.
    enum End: Hashable {
        case closed
        case reset
        case nothing
    }

    private let socket: FileDescriptor
    private var buffer: [UInt8] = []

    init(port: UInt16, timeout: Duration = .seconds(120)) throws {
        socket = try Socket.connectLoopback(port: port, timeout: timeout)
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) throws {
        try socket.sendAll(bytes, timeout: .seconds(10))
    }

    /// Ends sending.
    func finish() throws {
        try socket.shutdownWriting()
    }

    /// Sends a request with a declared length.
    func post(_ body: String, to target: String = "/?token=good", headers: [String] = []) throws {
        try post(Array(body.utf8), to: target, headers: headers)
    }

    func post(_ body: [UInt8], to target: String = "/?token=good", headers: [String] = []) throws {
        let lines = ["POST \(target) HTTP/1.1", "Host: localhost", "Content-Length: \(body.count)"] + headers
        try send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
    }

    /// Reads a response up to its declared length.
    func answer(within time: Duration = .seconds(120)) throws -> RawAnswer {
        let deadline = MonotonicClock.now.advanced(by: time)
        while true {
            if let (answer, length) = RawAnswer.parse(buffer) {
                buffer.removeFirst(length)
                return answer
            }
            if let end = try receive(until: deadline) { throw NoAnswer(end: end, received: buffer) }
        }
    }

    /// Reads until the connection ends or the time is over.
    func remainder(within time: Duration = .seconds(120)) throws -> (bytes: [UInt8], end: End) {
        let deadline = MonotonicClock.now.advanced(by: time)
        while true {
            if let end = try receive(until: deadline) {
                defer { buffer = [] }
                return (buffer, end)
            }
        }
    }

    /// Waits for any bytes.
    func some(within time: Duration = .seconds(120)) throws -> [UInt8] {
        if let end = try receive(until: MonotonicClock.now.advanced(by: time)) {
            throw NoAnswer(end: end, received: buffer)
        }
        defer { buffer = [] }
        return buffer
    }

    private func receive(until deadline: KernelInstant) throws -> End? {
        while true {
            switch socket.attemptRead(appendingTo: &buffer, atMost: 64 * 1024) {
            case .bytes: return nil
            case .end: return .closed
            case .failed(.connectionReset): return .reset
            case .failed(let error): throw error
            case .wouldBlock:
                let remaining = MonotonicClock.now.duration(to: deadline)
                guard remaining > .zero, try Readiness.wait(socket, for: .read, timeout: remaining) else {
                    return .nothing
                }
            }
        }
    }
}

/// The connection ended or was silent when a response was due.
struct NoAnswer: Error {
    let end: RawClient.End
    let received: [UInt8]
}
