import CLinux
import Glibc

extension FileDescriptor {
    /// Accepts the next connection, non-blocking; nil when none waits.
    package borrowing func accept() throws(Errno) -> FileDescriptor? {
        while true {
            do throws(Errno) {
                let connection = try retrying { clinux_accept(rawValue) }
                return FileDescriptor(owning: connection)
            } catch .connectionAborted {
                // The peer left while it waited; the next one may still be there.
                continue
            } catch .wouldBlock {
                return nil
            }
        }
    }

    /// The path that a Unix socket is bound to; nil if it has none.
    package var localUnixPath: String? {
        var path = [CChar](repeating: 0, count: 128)
        let count = unsafe clinux_local_unix_path(rawValue, &path, path.count)
        return count > 0 ? String(validating: path.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// Sends as many of the bytes as the socket takes now, never raising SIGPIPE.
    package borrowing func send(_ bytes: Span<UInt8>) throws(Errno) -> Int {
        try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
            try retrying { unsafe clinux_send(rawValue, bytes.baseAddress, bytes.count) }
        }
    }

    package borrowing func send(_ bytes: [UInt8]) throws(Errno) -> Int {
        try send(bytes.span)
    }

    package borrowing func send(_ bytes: [UInt8], in range: Range<Int>) throws(Errno) -> Int {
        try send(bytes.span.extracting(range))
    }

    /// Sends two parts as if they were one, without joining them first.
    package borrowing func send(_ head: Span<UInt8>, _ body: Span<UInt8>) throws(Errno) -> Int {
        try unsafe head.withUnsafeBytes { head throws(Errno) in
            try unsafe body.withUnsafeBytes { body throws(Errno) in
                try retrying {
                    unsafe clinux_send_two(rawValue, head.baseAddress, head.count, body.baseAddress, body.count)
                }
            }
        }
    }

    /// Sends for a loop: "not now" is a result, not an error.
    package borrowing func attemptSend(_ bytes: [UInt8], from offset: Int = 0) -> IOResult {
        attemptSend(bytes.span.extracting(offset..<bytes.count))
    }

    /// Sends for a loop: "not now" is a result, not an error.
    package borrowing func attemptSend(_ bytes: Span<UInt8>) -> IOResult {
        do throws(Errno) {
            return .bytes(try send(bytes))
        } catch {
            return IOResult(error)
        }
    }

    /// Sends everything, or throws `timedOut` when the peer takes too long.
    package borrowing func sendAll(_ bytes: [UInt8], timeout: Duration? = nil) throws(Errno) {
        let deadline = timeout.map { MonotonicClock.now.advanced(by: $0) }
        var sent = 0
        while sent < bytes.count {
            do throws(Errno) {
                sent += try send(bytes.span.extracting(sent..<bytes.count))
            } catch .wouldBlock {
                let remaining = deadline.map { MonotonicClock.now.duration(to: $0) }
                guard try Readiness.wait(self, for: .write, timeout: remaining) else { throw .timedOut }
            }
        }
    }

    /// Tells the peer that nothing more will be sent.
    package borrowing func shutdownWriting() throws(Errno) {
        try calling { shutdown(rawValue, CInt(SHUT_WR)) }
    }

    /// Ends the connection in both directions; the descriptor stays open.
    package borrowing func shutdownBoth() throws(Errno) {
        try calling { shutdown(rawValue, CInt(SHUT_RDWR)) }
    }
}
