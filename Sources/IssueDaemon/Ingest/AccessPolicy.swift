import IssueCore
import IssueStore
import UnixIO

/// Who may see and steer what, by what the kernel says of him.
struct AccessPolicy: Equatable, Sendable {
    var ownUser: UInt32
    var readers: Set<UInt32>
    var operators: Set<UInt32>
    /// Which ids share the limits of one user, and which are lent to containers.
    var users = AccountableUsers()

    /// The numbers that systemd gives to dynamic users, and takes back: tomorrow they are somebody else's (systemd's
    /// `UIDS-GIDS.md`), as is what the kernel shows for one that it can't name.
    static let recycledUsers: ClosedRange<UInt32> = 61_184...65_519
    static let nobody: UInt32 = 65_534

    func viewer(uid: UInt32, groups: [UInt32]) -> Viewer {
        if isPrivileged(uid) || groups.contains(where: { readers.contains($0) || operators.contains($0) }) {
            return .everything
        }
        if uid == Self.nobody || Self.recycledUsers.contains(uid) || users.isRecycled(uid) { return .nothing }
        return .user(uid)
    }

    func isOperator(uid: UInt32, groups: [UInt32]) -> Bool {
        isPrivileged(uid) || groups.contains { operators.contains($0) }
    }

    /// What a new connection counts as.
    func standing(uid: UInt32, groups: [UInt32]) -> ConnectionShares.Standing {
        if uid == 0 { return .root }
        if uid == ownUser { return .daemonUser }
        return isOperator(uid: uid, groups: groups) ? .operator : .ordinary
    }

    private func isPrivileged(_ uid: UInt32) -> Bool {
        uid == 0 || uid == ownUser
    }
}

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
