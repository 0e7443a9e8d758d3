import IssueCore
import UnixIO

extension AccessPolicy {
    /// What `[Access]` says, for the user that the daemon runs as.
    init(_ settings: AccessSettings) {
        self.init(
            ownUser: CurrentProcess.userID, readers: settings.readerIDs, operators: settings.operatorIDs,
            users: AccountableUsers.onThisHost(settings))
    }
}

extension AccountableUsers {
    /// Reads which ids share the limits of one user. A file that cannot be read counts as empty.
    static func onThisHost(_ settings: AccessSettings) -> AccountableUsers {
        let maxBytes = 4 << 20
        let subordinates = try? FileSystem.read("/etc/subuid", limit: maxBytes)
        let users = try? FileSystem.read("/etc/passwd", limit: maxBytes)
        return AccountableUsers(
            subordinates: subordinates ?? [], users: users ?? [], hasContainerUsers: settings.containerUsers)
    }
}
