import CLinux
import Glibc

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
