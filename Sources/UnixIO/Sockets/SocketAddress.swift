import Glibc

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
