import CLinux
import Glibc

/// Makes sockets that are closed on exec, connected or not.
package enum Socket {
    /// Connects a stream, or throws `timedOut` when nobody accepted in time.
    ///
    /// The socket comes back non-blocking unless told otherwise. A timeout of
    /// zero tries once.
    package static func connect(
        to address: SocketAddress, timeout: Duration, nonBlocking: Bool = true
    ) throws(Errno) -> FileDescriptor {
        switch address.form {
        case .unix(let path):
            try connectUnix(path, timeout: timeout, nonBlocking: nonBlocking)
        case .ipv4Loopback(let port), .ipv6Loopback(let port):
            try connectLoopback(address.family, port, timeout: timeout, nonBlocking: nonBlocking)
        }
    }

    /// Listens on the loopback interface; port 0 takes any free one.
    package static func listenLoopback(
        at address: SocketAddress = .ipv4Loopback(port: 0), backlog: CInt = 1024
    ) throws(Errno) -> FileDescriptor {
        let port: UInt16 =
            switch address.form {
            case .ipv4Loopback(let port), .ipv6Loopback(let port): port
            case .unix: preconditionFailure("A Unix address has no port: use listenUnix")
            }
        let listener = try make(address.family, .stream, nonBlocking: true)
        try calling { clinux_set_reuse_address(listener.rawValue) }
        try calling { clinux_bind_loopback(listener.rawValue, address.family, port) }
        try calling { Glibc.listen(listener.rawValue, backlog) }
        return listener
    }

    /// Sends one datagram to a Unix socket, as `sd_notify` does.
    ///
    /// Where the receiver reads nothing there is no room after a few; a
    /// second is waited for some, then it is ``Errno/wouldBlock``.
    package static func sendDatagram(_ bytes: [UInt8], to address: SocketAddress) throws(Errno) {
        guard case .unix(let path) = address.form else { throw .notSupported }
        let socket = try make(AF_UNIX, .datagram, nonBlocking: false)
        try calling { clinux_set_send_timeout(socket.rawValue, Duration.seconds(1).socketNanoseconds) }
        try retrying {
            unsafe clinux_send_to_unix(socket.rawValue, bytes, bytes.count, path, path.count)
        }
    }

    /// A bound socket that takes datagrams.
    package static func datagramReceiver(at address: SocketAddress) throws(Errno) -> FileDescriptor {
        guard case .unix(let path) = address.form else { throw .notSupported }
        let socket = try make(AF_UNIX, .datagram, nonBlocking: true)
        try calling { unsafe clinux_bind_unix(socket.rawValue, path, path.count) }
        return socket
    }

    static func make(_ family: CInt, _ kind: SocketKind, nonBlocking: Bool) throws(Errno) -> FileDescriptor {
        let rawValue = try calling { clinux_socket(family, kind.isStream, nonBlocking ? 1 : 0) }
        return FileDescriptor(owning: rawValue)
    }

    private static func connectUnix(
        _ path: [UInt8], timeout: Duration, nonBlocking: Bool
    ) throws(Errno) -> FileDescriptor {
        // A non-blocking connect to a full backlog says EAGAIN, and no poll
        // tells when to try again. A blocking one waits in the kernel, as long
        // as the send timeout allows.
        let waits = timeout > .zero
        let deadline = MonotonicClock.now.advanced(by: timeout)
        let socket = try make(AF_UNIX, .stream, nonBlocking: !waits)
        while true {
            if waits {
                let remaining = MonotonicClock.now.duration(to: deadline)
                guard remaining > .zero else { throw .timedOut }
                try calling { clinux_set_send_timeout(socket.rawValue, remaining.socketNanoseconds) }
            }
            do throws(Errno) {
                try calling { unsafe clinux_connect_unix(socket.rawValue, path, path.count) }
                break
            } catch .interrupted {
                continue
            } catch .wouldBlock where waits {
                throw .timedOut
            }
        }
        if waits { try calling { clinux_set_send_timeout(socket.rawValue, 0) } }
        try socket.setNonBlocking(nonBlocking)
        return socket
    }

    private static func connectLoopback(
        _ family: CInt, _ port: UInt16, timeout: Duration, nonBlocking: Bool
    ) throws(Errno) -> FileDescriptor {
        let socket = try make(family, .stream, nonBlocking: true)
        do throws(Errno) {
            try calling { clinux_connect_loopback(socket.rawValue, family, port) }
        } catch .inProgress {
            guard try Readiness.wait(socket, for: .write, timeout: timeout) else { throw .timedOut }
            let error = try calling { clinux_socket_error(socket.rawValue) }
            guard error == 0 else { throw Errno(rawValue: error) }
        }
        try socket.setNonBlocking(nonBlocking)
        return socket
    }
}

extension Duration {
    /// A send timeout short enough for a `timeval` of any width.
    fileprivate var socketNanoseconds: Int64 {
        min(clampedNanoseconds, 1_000_000_000 * 86_400 * 365)
    }
}

extension Socket {
    /// Listens at a Unix address, replacing the socket file of a dead process.
    ///
    /// Throws `addressInUse` when somebody answers there, or when the file is
    /// no socket. The file never has wider permissions than `mode`.
    package static func listenUnix(
        at address: SocketAddress, mode: UInt32, backlog: CInt = 4096
    ) throws(Errno) -> FileDescriptor {
        guard case .unix(let bytes) = address.form else { throw .notSupported }
        guard let path = address.path else {
            let listener = try bound(to: bytes, mode: mode)
            try calling { Glibc.listen(listener.rawValue, backlog) }
            return listener
        }

        // Between bind and listen a socket refuses connections as a stale one
        // does. The lock keeps two processes that start together from taking
        // each other's file for one. Where the folder cannot be read there is
        // no lock, and bind alone decides.
        let folder = FileLock(waitingForFolderOf: path)
        let listener = try boundReplacingStale(bytes, path: path, mode: mode)
        try calling { Glibc.listen(listener.rawValue, backlog) }
        // bind took the umask away from the mode; this gives it back.
        try FileSystem.setMode(mode, of: path)
        extendLifetime(folder)
        return listener
    }

    private static func boundReplacingStale(
        _ bytes: [UInt8], path: String, mode: UInt32
    ) throws(Errno) -> FileDescriptor {
        do throws(Errno) {
            return try bound(to: bytes, mode: mode)
        } catch .addressInUse {
            guard try isStale(bytes, path: path) else { throw .addressInUse }
            try FileSystem.remove(path)
            return try bound(to: bytes, mode: mode)
        }
    }

    private static func bound(to bytes: [UInt8], mode: UInt32) throws(Errno) -> FileDescriptor {
        let listener = try make(AF_UNIX, .stream, nonBlocking: true)
        // The file inherits the mode that the socket has now, so there is no
        // moment at which strangers could connect, and no umask to change.
        try listener.setMode(mode)
        try calling { unsafe clinux_bind_unix(listener.rawValue, bytes, bytes.count) }
        return listener
    }

    private static func isStale(_ bytes: [UInt8], path: String) throws(Errno) -> Bool {
        guard try FileSystem.status(of: path, followingLinks: false).kind == .socket else { return false }
        let probe = try make(AF_UNIX, .stream, nonBlocking: true)
        do throws(Errno) {
            try retrying { unsafe clinux_connect_unix(probe.rawValue, bytes, bytes.count) }
            return false
        } catch {
            // Only a refusal proves that nobody listens; a full backlog, a
            // wrong type or a missing permission do not.
            return error == .connectionRefused
        }
    }
}

/// Where a socket can be reached: on this host, and nowhere else.
package struct SocketAddress: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        /// What goes into `sun_path`: a path, or a NUL and an abstract name.
        case unix([UInt8])
        case ipv4Loopback(UInt16)
        case ipv6Loopback(UInt16)
    }

    let form: Form

    /// A path, or with a leading `@` a name in the abstract namespace.
    package static func unix(_ path: String) throws(InvalidSocketAddress) -> SocketAddress {
        var bytes = Array(path.utf8)
        guard !bytes.isEmpty else { throw .empty }
        guard !bytes.contains(0) else { throw .containsNul }
        // 108 bytes in the kernel, one of them for the NUL behind a path.
        guard bytes.count <= 107 else { throw .tooLong(path: path) }
        if bytes[0] == UInt8(ascii: "@") {
            guard bytes.count > 1 else { throw .empty }
            bytes[0] = 0
        }
        return SocketAddress(form: .unix(bytes))
    }

    /// Port 0 lets the kernel choose a free one.
    package static func ipv4Loopback(port: UInt16) -> SocketAddress {
        SocketAddress(form: .ipv4Loopback(port))
    }

    package static func ipv6Loopback(port: UInt16) -> SocketAddress {
        SocketAddress(form: .ipv6Loopback(port))
    }

    var family: CInt {
        switch form {
        case .unix: AF_UNIX
        case .ipv4Loopback: AF_INET
        case .ipv6Loopback: AF_INET6
        }
    }

    /// The path of a socket file, if the address has one.
    package var path: String? {
        guard case .unix(let bytes) = form, bytes[0] != 0 else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String {
        switch form {
        case .unix(let bytes):
            bytes[0] == 0
                ? "@" + String(decoding: bytes.dropFirst(), as: UTF8.self)
                : String(decoding: bytes, as: UTF8.self)
        case .ipv4Loopback(let port): "127.0.0.1:\(port)"
        case .ipv6Loopback(let port): "[::1]:\(port)"
        }
    }
}

/// Whether a socket carries a stream of bytes or separate messages.
package enum SocketKind: Sendable {
    case stream
    case datagram

    var isStream: CInt {
        switch self {
        case .stream: 1
        case .datagram: 0
        }
    }
}

/// Why a text cannot be the address of a Unix socket.
package enum InvalidSocketAddress: Error, Hashable, Sendable, CustomStringConvertible {
    case empty
    case containsNul
    case tooLong(path: String)

    package var description: String {
        switch self {
        case .empty:
            "A socket needs a path, or a name behind the @."
        case .containsNul:
            "The path of a socket cannot hold a NUL character."
        case .tooLong(let path):
            "The path of a socket can have at most 107 bytes, and “\(path)” has \(path.utf8.count)."
        }
    }
}

extension FileDescriptor {
    /// The port of a TCP socket, chosen by the kernel if it was bound to 0.
    package borrowing func localPort() throws(Errno) -> UInt16 {
        UInt16(truncatingIfNeeded: try calling { clinux_local_port(rawValue) })
    }

    /// Whether this is a socket that listens, as one inherited from systemd is.
    package borrowing func isListening() throws(Errno) -> Bool {
        try calling { clinux_is_listening(rawValue) } == 1
    }

    /// Asks for a send buffer; the kernel doubles the number for its own use.
    package borrowing func setSendBuffer(bytes: Int) throws(Errno) {
        try calling { clinux_set_send_buffer(rawValue, CInt(clamping: bytes)) }
    }

    /// Asks for a receive buffer; the kernel doubles the number for its own use.
    package borrowing func setReceiveBuffer(bytes: Int) throws(Errno) {
        try calling { clinux_set_receive_buffer(rawValue, CInt(clamping: bytes)) }
    }

    /// Makes closing a TCP connection reset it instead of ending it in order.
    package borrowing func setResetOnClose() throws(Errno) {
        try calling { clinux_set_reset_on_close(rawValue) }
    }

    /// Sends small pieces at once, instead of gathering them.
    package borrowing func setNoDelay() throws(Errno) {
        try calling { clinux_set_no_delay(rawValue) }
    }
}

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
