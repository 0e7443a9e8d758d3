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
        return ownTemporaryFolder
    }

    private var userStateFolder: String {
        if let folder = folder("XDG_STATE_HOME") { return "\(folder)/issued" }
        if let home = folder("HOME") ?? homeFolder { return "\(home)/.local/state/issued" }
        return ownTemporaryFolder
    }
}
