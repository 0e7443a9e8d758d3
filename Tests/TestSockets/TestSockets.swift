import Glibc
import Synchronization
package import UnixIO

/// TCP on the loopback interface.
extension Socket {
    /// Connects to a port.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - timeout: The maximum time until the kernel has established the connection.
    ///   - nonBlocking: `false` to make the returned socket a blocking one.
    /// - Throws: `timedOut`, or the error of the connection, such as `connectionRefused`.
    package static func connectLoopback(
        port: UInt16, timeout: Duration, nonBlocking: Bool = true
    ) throws(Errno) -> FileDescriptor {
        let socket = try make(AF_INET, SOCK_STREAM)
        do throws(Errno) {
            try unsafe call(Glibc.connect, socket, port)
        } catch Errno(rawValue: EINPROGRESS) {
            guard try Readiness.wait(socket, for: .write, timeout: timeout) else { throw .timedOut }
            let error = try socket.option(SO_ERROR)
            guard error == 0 else { throw Errno(rawValue: error) }
        }
        try socket.setNonBlocking(nonBlocking)
        return socket
    }

    /// Listens on a port. Port 0 chooses any free one.
    package static func listenLoopback(port: UInt16 = 0, backlog: CInt = 1024) throws(Errno) -> FileDescriptor {
        let listener = try make(AF_INET, SOCK_STREAM)
        try listener.setOption(SO_REUSEADDR, 1 as CInt)
        try unsafe call(Glibc.bind, listener, port)
        try check(Glibc.listen(listener.rawValue, backlog))
        return listener
    }

    /// The index of the next port, modulo the size of its range. Random at first, so that two processes rarely try the
    /// same port.
    private static let nextPort = Atomic(UInt.random(in: 0..<1 << 20))

    /// Listens on a free port that stays free while the listener is closed, so that a server can be stopped and started
    /// again.
    ///
    /// Linux gives the ports from 32768 on to connections and to listeners without a port of their own (ip(7),
    /// `ip_local_port_range`). Such a port could be taken while its listener is closed. Within a process, successive
    /// attempts, in any range, use successive ports, so it takes many calls until a port is returned again.
    ///
    /// - Parameter range: Ports below 32768. Servers of another kind must use another range.
    /// - Throws: `addressInUse` if 100 ports in a row are in use, or another error at once.
    package static func listenLoopback(portIn range: Range<UInt16>) throws(Errno) -> FileDescriptor {
        for _ in 0..<100 {
            let number = nextPort.wrappingAdd(1, ordering: .relaxed).oldValue
            do throws(Errno) {
                return try listenLoopback(port: range.lowerBound + UInt16(number % UInt(range.count)))
            } catch {
                guard error == .addressInUse else { throw error }
            }
        }
        throw .addressInUse
    }

    private static func call(
        _ function: (CInt, UnsafePointer<sockaddr>?, socklen_t) -> CInt, _ socket: borrowing FileDescriptor,
        _ port: UInt16
    ) throws(Errno) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let descriptor = socket.rawValue
        let result = unsafe withUnsafePointer(to: address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe function(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try check(result)
    }

    fileprivate static func make(_ family: CInt, _ type: __socket_type) throws(Errno) -> FileDescriptor {
        let flags = CInt(bitPattern: type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        return FileDescriptor(owning: try check(socket(family, flags, 0)))
    }
}

extension Socket {
    /// Returns a Unix socket that receives datagrams at a path or, with a leading `@`, at an abstract name.
    package static func datagramReceiver(at path: String) throws(Errno) -> FileDescriptor {
        let receiver = try make(AF_UNIX, SOCK_DGRAM)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = path.hasPrefix("@") ? [0] + Array(path.utf8.dropFirst()) : Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { throw .nameTooLong }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let size = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
        let descriptor = receiver.rawValue
        let result = unsafe withUnsafePointer(to: address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(descriptor, address, socklen_t(size + bytes.count))
            }
        }
        try check(result)
        return receiver
    }
}

/// Two Unix sockets that are connected to each other.
package struct SocketPair: ~Copyable, Sendable {
    package let first: FileDescriptor
    package let second: FileDescriptor

    package init(nonBlocking: Bool = true) throws(Errno) {
        var descriptors: [CInt] = [-1, -1]
        let flags = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | (nonBlocking ? SOCK_NONBLOCK.rawValue : 0)
        try check(unsafe socketpair(AF_UNIX, CInt(bitPattern: flags), 0, &descriptors))
        first = FileDescriptor(owning: descriptors[0])
        second = FileDescriptor(owning: descriptors[1])
    }
}

extension FileDescriptor {
    /// Returns the port of a TCP socket. If it was bound to port 0, this is the port that the kernel chose.
    package borrowing func localPort() throws(Errno) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = rawValue
        let result = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe getsockname(descriptor, address, &size)
            }
        }
        try check(result)
        return UInt16(bigEndian: address.sin_port)
    }

    /// Requests a send buffer size. The kernel doubles it for its own bookkeeping.
    package borrowing func setSendBuffer(bytes: Int) throws(Errno) {
        try setOption(SO_SNDBUF, CInt(clamping: bytes))
    }

    /// Requests a receive buffer size. The kernel doubles it for its own bookkeeping.
    package borrowing func setReceiveBuffer(bytes: Int) throws(Errno) {
        try setOption(SO_RCVBUF, CInt(clamping: bytes))
    }

    /// Makes closing a TCP connection reset it instead of shutting it down in order.
    package borrowing func setResetOnClose() throws(Errno) {
        try setOption(SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    /// Sends small segments immediately instead of coalescing them.
    package borrowing func setNoDelay() throws(Errno) {
        try setOption(TCP_NODELAY, 1 as CInt, level: CInt(IPPROTO_TCP))
    }

    /// Ends sending. The peer reads the end of the stream.
    package borrowing func shutdownWriting() throws(Errno) {
        try check(shutdown(rawValue, CInt(SHUT_WR)))
    }

    fileprivate borrowing func setOption<Value: BitwiseCopyable>(
        _ option: CInt, _ value: Value, level: CInt = SOL_SOCKET
    ) throws(Errno) {
        let descriptor = rawValue
        let result = unsafe withUnsafeBytes(of: value) { bytes in
            unsafe setsockopt(descriptor, level, option, bytes.baseAddress, socklen_t(bytes.count))
        }
        try check(result)
    }

    fileprivate borrowing func option(_ option: CInt) throws(Errno) -> CInt {
        var value: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        try check(unsafe getsockopt(rawValue, SOL_SOCKET, option, &value, &size))
        return value
    }
}

@discardableResult
private func check(_ result: CInt) throws(Errno) -> CInt {
    guard result < 0 else { return result }
    throw Errno(rawValue: errno)
}
