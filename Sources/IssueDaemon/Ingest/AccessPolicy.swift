import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// The rights of users, based on the credentials that the kernel reports.
struct AccessPolicy: Equatable, Sendable {
    /// The daemon's user.
    var ownUser: UInt32
    /// The ids of the groups in `Readers=`.
    var readers: Set<UInt32>
    /// The ids of the groups in `Operators=`.
    var operators: Set<UInt32>
    /// Which user ids share the limits of one user, and which belong to containers.
    var users = AccountableUsers()

    /// The ids of systemd's dynamic users, which are reused for other users (systemd's `UIDS-GIDS.md`).
    static let recycledUsers: ClosedRange<UInt32> = 61_184...65_519
    /// The id that the kernel reports for a user it can't map.
    static let nobody: UInt32 = 65_534

    /// Returns the records that a user may read. Each query is restricted by `Viewer.condition`, in
    /// `SeriesSelection.swift`.
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

    /// Returns the standing of a new connection, which decides how the limits for connections apply to it.
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
    /// Creates the policy of `[Access]` for the user that the daemon runs as.
    init(_ settings: AccessSettings) {
        self.init(
            ownUser: CurrentProcess.userID, readers: settings.readerIDs, operators: settings.operatorIDs,
            users: AccountableUsers.onThisHost(settings))
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
