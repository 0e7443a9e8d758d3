import UnixIO

extension Surroundings {
    /// What an ordinary user goes by who has started the daemon himself, without any file.
    var userConfiguration: Configuration {
        var configuration = Configuration.default
        configuration.socket.path = "\(userRuntimeFolder)/issued.sock"
        configuration.store.path = "\(userStateFolder)/issues.db"
        return configuration
    }

    /// Whether the daemon is an ordinary user's own, and not the host's.
    var isOrdinaryUser: Bool { userID != 0 && folder("STATE_DIRECTORY") == nil }

    /// Where a user without folders of his own keeps what is his, among what is others'.
    var ownTemporaryFolder: String { "\(temporaryFolder)-\(userID)" }

    private var userRuntimeFolder: String {
        if let folder = folder("XDG_RUNTIME_DIR") { return "\(folder)/issued" }
        let usual = "\(runtimeFolder)/\(userID)"
        if let status = try? FileSystem.status(of: usual), status.kind == .directory, status.uid == userID {
            return "\(usual)/issued"
        }
        // Another user may have taken that name, and must not keep the daemon
        // from starting. Clients find the other place only by ISSUED_SOCKET.
        return isTemporaryFolderTaken ? userStateFolder : ownTemporaryFolder
    }

    /// `true` if another user made the folder that would be this user's own.
    private var isTemporaryFolderTaken: Bool {
        guard let status = try? FileSystem.status(of: ownTemporaryFolder, followingLinks: false) else { return false }
        return status.kind != .directory || status.uid != userID
    }

    /// The socket of a user whose folder below `/tmp` is taken; nil if nothing is wrong.
    var socketBesidesTakenFolder: String? {
        guard isOrdinaryUser, userRuntimeFolder == userStateFolder, isTemporaryFolderTaken else { return nil }
        return "\(userRuntimeFolder)/issued.sock"
    }

    private var userStateFolder: String {
        if let folder = folder("XDG_STATE_HOME") { return "\(folder)/issued" }
        if let home = folder("HOME") ?? homeFolder { return "\(home)/.local/state/issued" }
        return ownTemporaryFolder
    }
}
