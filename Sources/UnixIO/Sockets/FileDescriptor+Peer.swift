import CLinux

extension FileDescriptor {
    /// The process, user and group that made the other end of this connection.
    package borrowing func peerCredentials() throws(Errno) -> PeerCredentials {
        var credentials = PeerCredentials(pid: 0, uid: 0, gid: 0)
        try calling {
            unsafe clinux_peer_credentials(rawValue, &credentials.pid, &credentials.uid, &credentials.gid)
        }
        return credentials
    }

    /// A descriptor of the process that made the other end of this connection; it stands for no later process with
    /// the same pid.
    ///
    /// - Throws: `Errno.protocolOptionMissing` before Linux 6.5; another error
    ///   where that process has been reaped.
    package borrowing func peerProcess() throws(Errno) -> FileDescriptor {
        FileDescriptor(owning: try calling { clinux_peer_process(rawValue) })
    }

    /// The supplementary groups of the peer, at the time it connected.
    package borrowing func peerGroups() throws(Errno) -> [UInt32] {
        var groups = [UInt32](repeating: 0, count: 32)
        while true {
            let count = try calling { unsafe clinux_peer_groups(rawValue, &groups, groups.count) }
            guard count > groups.count else { return Array(groups.prefix(count)) }
            groups = [UInt32](repeating: 0, count: count)
        }
    }
}
