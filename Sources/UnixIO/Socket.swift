import CLinux
import Glibc

/// Creates Unix sockets. All of them are closed on exec.
package enum Socket {
    /// Connects a stream socket.
    ///
    /// - Parameters:
    ///   - address: The address to connect to.
    ///   - timeout: The maximum time to wait; zero for a single attempt.
    ///   - nonBlocking: `true` for a non-blocking socket.
    /// - Throws: `timedOut` if the backlog of the listening socket stays full until the timeout; `wouldBlock` if it is
    ///   full and the timeout is zero; otherwise the error of connect(2), such as `noSuchFile` or `connectionRefused`.
    package static func connect(
        to address: SocketAddress, timeout: Duration, nonBlocking: Bool = true
    ) throws(Errno) -> FileDescriptor {
        // A non-blocking connect to a full backlog fails with EAGAIN, and poll(2) does not report when to try again. A
        // blocking connect waits in the kernel for up to the send timeout.
        let waits = timeout > .zero
        let deadline = MonotonicClock.now.advanced(by: timeout)
        let socket = try make(stream: true, nonBlocking: !waits)
        while true {
            if waits {
                let remaining = MonotonicClock.now.duration(to: deadline)
                guard remaining > .zero else { throw .timedOut }
                try calling { clinux_set_send_timeout(socket.rawValue, remaining.socketNanoseconds) }
            }
            do throws(Errno) {
                try calling { unsafe clinux_connect_unix(socket.rawValue, address.bytes, address.bytes.count) }
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

    /// Sends one datagram to a Unix socket, as `sd_notify` does.
    ///
    /// If the receiver's queue is full, the call waits for up to a second, and then throws ``Errno/wouldBlock``.
    package static func sendDatagram(_ bytes: [UInt8], to address: SocketAddress) throws(Errno) {
        let socket = try make(stream: false, nonBlocking: false)
        try calling { clinux_set_send_timeout(socket.rawValue, Duration.seconds(1).socketNanoseconds) }
        try retrying {
            unsafe clinux_send_to_unix(
                socket.rawValue, bytes, bytes.count, address.bytes, address.bytes.count)
        }
    }

    private static func make(stream: Bool, nonBlocking: Bool) throws(Errno) -> FileDescriptor {
        let rawValue = try calling { clinux_unix_socket(stream ? 1 : 0, nonBlocking ? 1 : 0) }
        return FileDescriptor(owning: rawValue)
    }
}

extension Duration {
    /// The duration in nanoseconds, limited to a year so that it fits in a `timeval` of any width.
    fileprivate var socketNanoseconds: Int64 {
        min(clampedNanoseconds, 1_000_000_000 * 86_400 * 365)
    }
}

extension Socket {
    /// Listens at a Unix address. Replaces a socket file at which no process listens any more.
    ///
    /// - Parameters:
    ///   - address: The address to listen at.
    ///   - mode: The permissions of the socket file. The file never has wider permissions, even briefly.
    ///   - backlog: The maximum number of connections that wait to be accepted.
    /// - Throws: `addressInUse` if the address exists already, unless it is certain that no process listens there. A
    ///   file that is not a socket is never replaced.
    package static func listenUnix(
        at address: SocketAddress, mode: UInt32, backlog: CInt = 4096
    ) throws(Errno) -> FileDescriptor {
        guard let path = address.path else {
            let listener = try bound(to: address.bytes, mode: mode)
            try calling { Glibc.listen(listener.rawValue, backlog) }
            return listener
        }

        // Between bind and listen, a socket refuses connections like a stale one. The lock prevents two processes that
        // start at the same time from removing each other's file. If the folder cannot be locked, for example because
        // it is unreadable, this could happen.
        let folder = FileLock(waitingForFolderOf: path)
        let listener = try boundReplacingStale(address.bytes, path: path, mode: mode)
        try calling { Glibc.listen(listener.rawValue, backlog) }
        // bind() applied the umask to the mode; this restores it.
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
        let listener = try make(stream: true, nonBlocking: true)
        // The file inherits the current mode of the socket. It therefore never has wider permissions, and the umask
        // need not be changed.
        try listener.setMode(mode)
        try calling { unsafe clinux_bind_unix(listener.rawValue, bytes, bytes.count) }
        return listener
    }

    private static func isStale(_ bytes: [UInt8], path: String) throws(Errno) -> Bool {
        guard try FileSystem.status(of: path, followingLinks: false).kind == .socket else { return false }
        let probe = try make(stream: true, nonBlocking: true)
        do throws(Errno) {
            try retrying { unsafe clinux_connect_unix(probe.rawValue, bytes, bytes.count) }
            return false
        } catch {
            // Only a refused connection proves that no process is listening. A full backlog, a socket of another type
            // and a missing permission do not.
            return error == .connectionRefused
        }
    }
}

/// The address of a Unix socket.
package struct SocketAddress: Hashable, Sendable {
    /// The contents of `sun_path`: a path, or a NUL byte and an abstract name.
    let bytes: [UInt8]

    /// Returns the address for a path or, with a leading `@`, for a name in the abstract namespace.
    package static func unix(_ path: String) throws(InvalidSocketAddress) -> SocketAddress {
        var bytes = Array(path.utf8)
        guard !bytes.isEmpty else { throw .empty }
        guard !bytes.contains(0) else { throw .containsNul }
        // The kernel allows 108 bytes, including the NUL byte after a path.
        guard bytes.count <= 107 else { throw .tooLong(path: path) }
        if bytes[0] == UInt8(ascii: "@") {
            guard bytes.count > 1 else { throw .empty }
            bytes[0] = 0
        }
        return SocketAddress(bytes: bytes)
    }

    /// The path of the socket file; nil if the address has none.
    package var path: String? {
        bytes[0] == 0 ? nil : String(decoding: bytes, as: UTF8.self)
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String {
        bytes[0] == 0
            ? "@" + String(decoding: bytes.dropFirst(), as: UTF8.self) : String(decoding: bytes, as: UTF8.self)
    }
}

/// The reason why a string is not a valid address of a Unix socket.
package enum InvalidSocketAddress: Error, Hashable, Sendable, CustomStringConvertible {
    case empty
    case containsNul
    case tooLong(path: String)

    package var description: String {
        switch self {
        case .empty:
            "The socket path is empty."
        case .containsNul:
            "The socket path contains a NUL character."
        case .tooLong(let path):
            "The socket path “\(path)” has \(path.utf8.count) bytes; the limit is 107."
        }
    }
}

extension FileDescriptor {
    /// Returns `true` if this is a listening socket, such as one inherited from systemd.
    package borrowing func isListening() throws(Errno) -> Bool {
        try calling { clinux_is_listening(rawValue) } == 1
    }
}

extension FileDescriptor {
    /// Accepts the next connection as a non-blocking socket. Returns nil if none is waiting; a blocking listener waits
    /// instead.
    package borrowing func accept() throws(Errno) -> FileDescriptor? {
        while true {
            do throws(Errno) {
                let connection = try retrying { clinux_accept(rawValue) }
                return FileDescriptor(owning: connection)
            } catch .connectionAborted {
                // The peer disconnected while it was waiting. Another connection may be waiting.
                continue
            } catch .wouldBlock {
                return nil
            }
        }
    }

    /// Returns `true` if the peer will send nothing else and everything that it has sent was read. Never waits.
    package borrowing func isAtEnd() -> Bool {
        var byte: UInt8 = 0
        let count = try? retrying { unsafe Glibc.recv(rawValue, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) }
        return count == 0
    }

    /// The path that a Unix socket is bound to; nil if it has none.
    package var localUnixPath: String? {
        var path = [CChar](repeating: 0, count: 128)
        let count = unsafe clinux_local_unix_path(rawValue, &path, path.count)
        return count > 0 ? String(validating: path.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// Sends as many bytes as the socket accepts now, and returns their number. Never raises SIGPIPE.
    package borrowing func send(_ bytes: Span<UInt8>) throws(Errno) -> Int {
        try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
            try retrying { unsafe clinux_send(rawValue, bytes.baseAddress, bytes.count) }
        }
    }

    /// Sends the bytes from an offset as far as the socket accepts them. Returns errors and "would block" as results.
    package borrowing func attemptSend(_ bytes: [UInt8], from offset: Int = 0) -> IOResult {
        attemptSend(bytes.span.extracting(offset..<bytes.count))
    }

    /// Sends as many bytes as the socket accepts now. Returns errors and "would block" as results.
    package borrowing func attemptSend(_ bytes: Span<UInt8>) -> IOResult {
        IOResult(writing: { () throws(Errno) in try send(bytes) })
    }

    /// Sends all bytes, waiting if necessary.
    ///
    /// - Parameter timeout: The maximum time for all bytes; nil for no limit. Not observed by a blocking socket.
    /// - Throws: `timedOut` if the peer does not accept all bytes in time.
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

    /// Ends the connection in both directions. The descriptor stays open.
    package borrowing func shutdownBoth() throws(Errno) {
        try calling { shutdown(rawValue, CInt(SHUT_RDWR)) }
    }
}

/// Passes open files to another process over a Unix socket (`SCM_RIGHTS`, see unix(7)).
extension FileDescriptor {
    /// Sends as many bytes as the socket accepts now, together with a file descriptor.
    ///
    /// The receiver gets its own descriptor of the same open file. Unless the result is `.bytes`, the descriptor was
    /// not passed.
    package borrowing func attemptSend(_ bytes: Span<UInt8>, passing file: borrowing FileDescriptor) -> IOResult {
        precondition(!bytes.isEmpty, "A descriptor can only be sent together with at least one byte")
        return IOResult(writing: { () throws(Errno) in
            try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
                try retrying {
                    unsafe clinux_send_descriptor(rawValue, bytes.baseAddress, bytes.count, file.rawValue)
                }
            }
        })
    }

    /// Reads into a part of an array, and receives the descriptor that was passed with these bytes, if any.
    ///
    /// - Parameters:
    ///   - buffer: The array to read into. Its count does not change.
    ///   - offset: The index at which to begin.
    ///   - limit: The maximum number of bytes.
    ///   - file: Replaced with the received descriptor, which is closed on exec. Unchanged if none was passed. The
    ///     sender can pass any file that it can open, so check the status before using the descriptor.
    /// - Returns: The number of bytes; 0 at the end of the stream.
    package borrowing func receive(
        into buffer: inout [UInt8], at offset: Int, atMost limit: Int, passed file: inout FileDescriptor?
    ) throws(Errno) -> Int {
        precondition(offset >= 0 && offset < buffer.count && limit > 0, "The range must be within the buffer")
        let room = min(limit, buffer.count - offset)
        var received: CInt = -1
        var span = buffer.mutableSpan
        let count = try unsafe span.withUnsafeMutableBytes { bytes throws(Errno) in
            try retrying {
                unsafe clinux_receive_descriptor(
                    rawValue, bytes.baseAddress.map { unsafe $0 + offset }, room, &received)
            }
        }
        if received >= 0 { file = FileDescriptor(owning: received) }
        return count
    }
}

/// An open file that is passed along with a message.
///
/// The peer can pass any file that it can open. Check the status of a received file before reading it.
package typealias PassedFile = SharedDescriptor
