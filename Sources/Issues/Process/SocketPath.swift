internal import UnixIO

/// Where the daemon's socket may be, by one rule for daemon, command and client.
package enum SocketPath {
    /// The socket of the host's own daemon.
    package static let system = "/run/issued/issued.sock"

    /// The socket of a daemon that an ordinary user runs for himself.
    ///
    /// Without a runtime directory it lies in a folder of the user's own beside
    /// others' temporary ones; one that is not his alone is not looked into.
    package static func user(
        runtimeDirectory: String? = UnixIO.Environment["XDG_RUNTIME_DIR"], userID: UInt32 = CurrentProcess.userID,
        runtimeFolder: String = "/run/user", temporaryFolder: String = "/tmp/issued"
    ) -> String {
        // The specification has a relative path ignored, and the folder belong to the user. After `su` or `sudo -E` it
        // is that of the user before, who could listen there.
        if let runtimeDirectory, runtimeDirectory.hasPrefix("/"), !isOthers(runtimeDirectory, userID) {
            return "\(runtimeDirectory)/issued/issued.sock"
        }
        let usual = "\(runtimeFolder)/\(userID)"
        let temporary = "\(temporaryFolder)-\(userID)"
        if !isOwn(usual, userID), isOwn(temporary, userID) { return "\(temporary)/issued.sock" }
        return "\(usual)/issued/issued.sock"
    }

    private static func isOwn(_ folder: String, _ userID: UInt32) -> Bool {
        guard let status = try? FileSystem.status(of: folder, followingLinks: false) else { return false }
        return status.kind == .directory && status.uid == userID && status.mode & 0o022 == 0
    }

    /// Whether a folder is there and belongs to another user.
    private static func isOthers(_ folder: String, _ userID: UInt32) -> Bool {
        guard let status = try? FileSystem.status(of: folder) else { return false }
        return status.uid != userID
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
