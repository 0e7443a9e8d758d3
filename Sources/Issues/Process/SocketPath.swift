internal import UnixIO

/// Where the daemon's socket may be, by one rule for daemon, command and client.
package enum SocketPath {
    /// The socket of the host's own daemon.
    package static let system = "/run/issued/issued.sock"

    /// The socket of a daemon that an ordinary user runs for himself.
    package static func user(
        runtimeDirectory: String? = UnixIO.Environment["XDG_RUNTIME_DIR"], userID: UInt32 = CurrentProcess.userID
    ) -> String {
        // The specification has a relative path ignored.
        let directory = runtimeDirectory.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/run/user/\(userID)"
        return "\(directory)/issued/issued.sock"
    }

    /// All paths to try, in order; none when `ISSUED_SOCKET` is set and empty.
    package static func search() -> [String] {
        search(override: UnixIO.Environment["ISSUED_SOCKET"], userSocket: user())
    }

    package static func search(override: String?, userSocket: String) -> [String] {
        guard let override else { return [userSocket, system] }
        return override.isEmpty ? [] : [override]
    }
}
