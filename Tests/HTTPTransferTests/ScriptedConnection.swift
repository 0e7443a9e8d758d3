import Glibc

/// A request as received.
struct ReceivedRequest: Equatable, Sendable {
    var head: String
    var body: [UInt8]
}

/// The server's end of a connection.
final class ScriptedConnection {
    private let descriptor: CInt
    private let record: (ReceivedRequest) -> Void
    private let listener: CInt
    private var unread: [UInt8] = []

    init(_ descriptor: CInt, of listener: CInt, record: @escaping (ReceivedRequest) -> Void) {
        self.descriptor = descriptor
        self.listener = listener
        self.record = record
        // So that a client that hangs fails the test.
        var timeout = timeval(tv_sec: 5, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
    }

    func end() {
        _ = close(descriptor)
    }

    /// Refuses all later connections.
    func stopListening() {
        _ = shutdown(listener, CInt(SHUT_RDWR))
    }

    /// Reads a complete request; nil if the client has closed, or has sent nothing for five seconds.
    @discardableResult
    func readRequest() -> ReceivedRequest? {
        guard let head = readHead() else { return nil }
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        let length = line.flatMap { Int($0.dropFirst("content-length: ".count)) } ?? 0
        guard let body = read(exactly: length) else { return nil }
        let request = ReceivedRequest(head: head, body: body)
        record(request)
        return request
    }

    /// Reads up to the end of the head. Most of a large body stays unread.
    @discardableResult
    func readHead() -> String? {
        while true {
            if let end = unread.indices.first(where: { unread[$0...].starts(with: Array("\r\n\r\n".utf8)) }) {
                let head = String(decoding: unread[..<end], as: UTF8.self)
                unread.removeFirst(end + 4)
                return head
            }
            guard readMore() else { return nil }
        }
    }

    func read(exactly count: Int) -> [UInt8]? {
        while unread.count < count {
            guard readMore() else { return nil }
        }
        let bytes = Array(unread.prefix(count))
        unread.removeFirst(count)
        return bytes
    }

    /// Reads and discards until the client closes, or sends nothing for five seconds.
    func readToEnd() {
        repeat { unread.removeAll() } while readMore()
    }

    /// Responds with a status and a body of known length.
    func answer(_ status: String, headers: [String] = [], body: String = "") {
        let lines = ["HTTP/1.1 \(status)"] + headers + ["Content-Length: \(body.utf8.count)", "", body]
        write(lines.joined(separator: "\r\n"))
    }

    /// Sends a text. Returns `false` if the client has gone, or reads nothing for five seconds.
    @discardableResult
    func write(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }

    /// Ends writing.
    func finishWriting() {
        _ = shutdown(descriptor, CInt(SHUT_WR))
    }

    /// Makes the end of the connection a reset.
    func resetAtEnd() {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    private func readMore() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        let count = unsafe chunk.withUnsafeMutableBytes { chunk in
            unsafe recv(descriptor, chunk.baseAddress, chunk.count, 0)
        }
        guard count > 0 else { return false }
        unread.append(contentsOf: chunk[..<count])
        return true
    }
}
