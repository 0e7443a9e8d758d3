import IssueCore
package import UnixIO

/// The user, environment variables and system paths of the process.
///
/// Tests replace them to be independent of the host.
package struct HostEnvironment: Sendable {
    package var userID: UInt32
    package var variables: [String: String]
    package var homeFolder: String?
    package var systemFile = "/etc/issued/issued.conf"
    /// The folder from which the service manager reads credentials.
    package var credentialStore = "/etc/credstore"
    /// The path, without the suffix `-UID`, of the folder for a user without a runtime folder.
    package var temporaryFolder = "/tmp/issued"
    /// The folder that contains the runtime folders of users.
    package var runtimeFolder = "/run/user"

    /// The folders of unit files, in decreasing order of precedence.
    package var unitFolders = FileSystem.unitFolders

    /// The environment of the current process.
    package static var current: HostEnvironment {
        var variables: [String: String] = [:]
        for name in ["CREDENTIALS_DIRECTORY", "HOME", "STATE_DIRECTORY", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"] {
            variables[name] = ProcessEnvironment[name]
        }
        let userID = CurrentProcess.userID
        return HostEnvironment(userID: userID, variables: variables, homeFolder: UserDatabase.homeFolder(of: userID))
    }

    /// Returns the value of a variable that names a folder.
    ///
    /// Returns nil if it is unset or relative. The XDG base directory specification requires relative paths to be
    /// ignored.
    func folder(_ variable: String) -> String? {
        guard let value = variables[variable], value.hasPrefix("/") else { return nil }
        return value
    }
}

extension HostEnvironment {
    /// The installed unit.
    var unit: ServiceUnit { ServiceUnit(folders: unitFolders) }

    /// The configuration of a daemon that an ordinary user started without a configuration file.
    var userConfiguration: Configuration {
        var configuration = Configuration.default
        configuration.socket.path = "\(userRuntimeFolder)/issued.sock"
        configuration.store.path = "\(userStateFolder)/issues.db"
        return configuration
    }

    /// The state directories that the service manager has set; empty if there are none.
    var stateFolders: [String] {
        folder("STATE_DIRECTORY")?.split(separator: ":").map { String($0) } ?? []
    }

    /// Whether the daemon belongs to an ordinary user, and not to the host.
    var isOrdinaryUser: Bool { userID != 0 && stateFolders.isEmpty }

    /// The folder for a user without a runtime folder. Other users can write to its parent folder.
    var userTemporaryFolder: String { "\(temporaryFolder)-\(userID)" }

    private var userRuntimeFolder: String {
        let parent = FileSystem.runtimeFolder(of: userID, variable: folder("XDG_RUNTIME_DIR"), parent: runtimeFolder)
        if let parent { return "\(parent)/issued" }
        // Another user may have created the temporary folder, which must not prevent the daemon from starting. Clients
        // find the socket in the state folder only if ISSUED_SOCKET names it.
        return isTemporaryFolderTaken ? userStateFolder : userTemporaryFolder
    }

    /// Whether the path of this user's temporary folder belongs to another user, or is not a folder.
    private var isTemporaryFolderTaken: Bool {
        guard let status = try? FileSystem.status(of: userTemporaryFolder, followingLinks: false) else { return false }
        return status.kind != .directory || status.uid != userID
    }

    /// The path of the socket if it is in the state folder because the path of the temporary folder is taken; otherwise
    /// nil.
    var fallbackSocketPath: String? {
        guard isOrdinaryUser, userRuntimeFolder == userStateFolder, isTemporaryFolderTaken else { return nil }
        return "\(userRuntimeFolder)/issued.sock"
    }

    private var userStateFolder: String {
        if let folder = folder("XDG_STATE_HOME") { return "\(folder)/issued" }
        if let home = folder("HOME") ?? homeFolder { return "\(home)/.local/state/issued" }
        return userTemporaryFolder
    }
}

extension AccountableUsers {
    /// Reads from `/etc/subuid` and `/etc/passwd` which user ids share the limits of one user. A file that can't be
    /// read, or is larger than 4 MiB, counts as empty.
    static func onThisHost(_ settings: AccessSettings) -> AccountableUsers {
        let maxBytes = 4 << 20
        let subordinates = try? FileSystem.read("/etc/subuid", limit: maxBytes)
        let users = try? FileSystem.read("/etc/passwd", limit: maxBytes)
        return AccountableUsers(
            subordinates: subordinates ?? [], users: users ?? [], hasContainerUsers: settings.containerUsers)
    }
}

extension FileSystem {
    /// Returns `true` if a path is that of one of these folders, or of a folder within one.
    static func isFolder(_ path: String, inside folders: [String]) -> Bool {
        folders.contains { path == $0 || path.hasPrefix($0 + "/") }
    }
}

/// The settings of the installed `issued.service` that `--check` needs.
struct ServiceUnit: Equatable {
    static let stateFolder = "/var/lib/issued"
    /// The credentials that the shipped unit loads.
    static let credentials: Set<String> = ["logzio-token"]

    /// The user of the service; `issued` if the unit is not installed or is masked.
    var user = "issued"
    var writablePaths: [String] = []
    var isInstalled = false
    /// The path of the file that sets the user; the unit's name if no file does.
    var sourcePath = "issued.service"

    /// Reads the unit and merges its drop-ins as described in systemd.unit(5).
    init(folders: [String]) {
        let unitFile = folders.map { "\($0)/issued.service" }.first { (try? FileSystem.status(of: $0)) != nil }
        var dropIns: [String: String] = [:]
        for folder in folders.reversed() {
            let path = "\(folder)/issued.service.d"
            for name in (try? FileSystem.names(in: path)) ?? [] where name.hasSuffix(".conf") {
                dropIns[name] = "\(path)/\(name)"
            }
        }
        let ordered = dropIns.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.compactMap { dropIns[$0] }
        for path in [unitFile].compactMap({ $0 }) + ordered {
            guard let content = try? FileSystem.read(path, limit: ConfigurationFile.sizeLimit) else { continue }
            // An empty file masks the unit. Without `User=`, systemd runs a service as root.
            if path == unitFile, !content.isEmpty { (isInstalled, user) = (true, "root") }
            for section in ConfigurationFile(path: path, content: content).sections where section.kind == "Service" {
                for assignment in section.assignments { apply(assignment, in: path) }
            }
        }
    }

    private mutating func apply(_ assignment: ConfigurationFile.Assignment, in path: String) {
        switch assignment.key {
        case "User":
            user = assignment.value.isEmpty ? "root" : assignment.value
            sourcePath = path
        case "ReadWritePaths" where assignment.value.isEmpty: writablePaths = []
        case "ReadWritePaths":
            let paths = assignment.value.split(whereSeparator: \.isBlank)
            writablePaths += paths.map { path in String(path.drop { "-+".contains($0) }) }
        default: break
        }
    }
}

/// A folder that no other user may enter.
package enum DaemonFolder {
    /// Creates the folder if it is missing, and checks that it is private to this user.
    ///
    /// - Throws: `notDirectory` if the path exists but is not a folder, `accessDenied` if the folder is not private,
    ///   or the error of creating it. In /tmp, another user could have created the folder.
    package static func prepare(_ path: String, userID: UInt32 = CurrentProcess.userID) throws(Errno) {
        try FileSystem.makeFolders(path, mode: 0o700)
        let status = try FileSystem.status(of: path, followingLinks: false)
        guard status.kind == .directory else { throw .notDirectory }
        guard status.uid == userID, status.mode & 0o077 == 0 else { throw .accessDenied }
    }
}
