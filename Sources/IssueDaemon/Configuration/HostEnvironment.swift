package import UnixIO

/// What the process was started with: who it is, and the variables that count for it.
package struct HostEnvironment: Sendable {
    package var userID: UInt32
    package var variables: [String: String]
    package var homeFolder: String?
    package var systemFile = "/etc/issued/issued.conf"
    /// Where the service manager takes credentials from.
    package var credentialStore = "/etc/credstore"
    /// What a user without a runtime folder puts his number behind.
    package var temporaryFolder = "/tmp/issued"
    package var runtimeFolder = "/run/user"

    /// Where unit files are, the most important first.
    package var unitFolders = [
        "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
        "/lib/systemd/system",
    ]

    package init(userID: UInt32, variables: [String: String], homeFolder: String?) {
        self.userID = userID
        self.variables = variables
        self.homeFolder = homeFolder
    }

    package static var present: HostEnvironment {
        let names = ["CREDENTIALS_DIRECTORY", "HOME", "STATE_DIRECTORY", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"]
        var variables: [String: String] = [:]
        for name in names { variables[name] = Environment[name] }
        let userID = CurrentProcess.userID
        return HostEnvironment(
            userID: userID, variables: variables, homeFolder: UserDatabase.homeFolder(of: userID))
    }

    /// A variable that names a folder; a relative one is ignored, as the XDG
    /// base directory specification has it.
    func folder(_ variable: String) -> String? {
        guard let value = variables[variable], value.hasPrefix("/") else { return nil }
        return value
    }
}

extension HostEnvironment {
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

/// A folder that nobody but ourselves may enter.
package enum PrivateFolder {
    /// Makes the folder where it is missing, and trusts one that is there only
    /// if it is ours alone: under /tmp a stranger could have put it there.
    package static func prepare(_ path: String, userID: UInt32 = CurrentProcess.userID) throws(Errno) {
        try FileSystem.makeFolders(path, mode: 0o700)
        let status = try FileSystem.status(of: path, followingLinks: false)
        guard status.kind == .directory else { throw .notDirectory }
        guard status.uid == userID, status.mode & 0o077 == 0 else { throw .accessDenied }
    }
}
