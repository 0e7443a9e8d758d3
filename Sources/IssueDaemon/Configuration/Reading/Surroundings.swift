import UnixIO

/// What the process was started with: who it is, and the variables that count for it.
package struct Surroundings: Sendable {
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

    package static var present: Surroundings {
        let names = ["CREDENTIALS_DIRECTORY", "HOME", "STATE_DIRECTORY", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"]
        var variables: [String: String] = [:]
        for name in names { variables[name] = Environment[name] }
        let userID = CurrentProcess.userID
        return Surroundings(
            userID: userID, variables: variables, homeFolder: UserDatabase.homeFolder(of: userID))
    }

    /// A variable that names a folder; a relative one is ignored, as the XDG
    /// base directory specification has it.
    func folder(_ variable: String) -> String? {
        guard let value = variables[variable], value.hasPrefix("/") else { return nil }
        return value
    }
}
