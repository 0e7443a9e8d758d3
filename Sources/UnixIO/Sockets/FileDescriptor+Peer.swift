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
