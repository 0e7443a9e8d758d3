import CLinux

/// Two descriptors that were made together: a pipe, or a pair of sockets.
package struct DescriptorPair: ~Copyable, Sendable {
    /// The reading end of a pipe.
    package var first: FileDescriptor
    /// The writing end of a pipe.
    package var second: FileDescriptor

    /// A pipe: what is written to the second comes out of the first.
    package static func pipe(nonBlocking: Bool = false) throws(Errno) -> DescriptorPair {
        var first: CInt = -1
        var second: CInt = -1
        try calling { unsafe clinux_pipe(&first, &second, nonBlocking ? 1 : 0) }
        return DescriptorPair(first: FileDescriptor(owning: first), second: FileDescriptor(owning: second))
    }

    /// Two Unix sockets that are connected to each other.
    package static func sockets(
        _ kind: SocketKind = .stream, nonBlocking: Bool = true
    ) throws(Errno) -> DescriptorPair {
        var first: CInt = -1
        var second: CInt = -1
        try calling { unsafe clinux_socket_pair(&first, &second, kind.isStream, nonBlocking ? 1 : 0) }
        return DescriptorPair(first: FileDescriptor(owning: first), second: FileDescriptor(owning: second))
    }
}
