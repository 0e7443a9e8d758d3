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
