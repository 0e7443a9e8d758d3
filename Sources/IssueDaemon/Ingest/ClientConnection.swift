import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// A client's connection. Used only by the socket thread.
///
/// ``ConnectionState`` decides what happens next. This class holds the data that the resulting actions need.
final class ClientConnection {
    let id: UInt64
    let descriptor: FileDescriptor
    let process: ReportingProcess
    /// The groups of the peer when it connected. The kernel does not report later changes.
    let groups: [UInt32]
    /// The standing of the client when it connected.
    let standing: ConnectionShares.Standing
    let user: SocketUser

    var intake: ConnectionIntake
    /// The connection's share of its user's load, and of the memory of all users.
    var bytes = ConnectionBytes()
    /// The round and the number of bytes of the last read. Before the first read, the round in which the connection was
    /// accepted.
    var lastRead: (round: UInt64, bytes: Int)
    /// The file that is passed with the next bytes sent; nil if there is none.
    var file: PassedFile?
    /// The records that the client could read when the last step of its query was submitted.
    var queryViewer: Viewer = .nothing

    init(
        id: UInt64, descriptor: consuming FileDescriptor, process: ReportingProcess, groups: [UInt32],
        standing: ConnectionShares.Standing, user: SocketUser, messageBytes: Int, round: UInt64
    ) {
        self.id = id
        self.descriptor = descriptor
        self.process = process
        self.groups = groups
        self.standing = standing
        self.user = user
        intake = ConnectionIntake(messageBytes: messageBytes)
        lastRead = (round, 0)
    }

    var state: ConnectionState {
        get { intake.state }
        // Changes the state in place.
        _modify { yield &intake.state }
    }
}

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
    /// `StoreReader.swift`.
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

/// A user with connections or unstored reports. All user ids that share one user's limits count as that user.
final class SocketUser {
    let uid: UInt32
    var load: UserLoad
    var connections: Set<UInt64> = []
    /// The last round in which one of the connections was served.
    var lastRound: UInt64 = 0
    /// Whether the user's load has dropped or memory was released, so that the user's throttled connections may be able
    /// to resume.
    var hasFreedCapacity = false

    init(uid: UInt32, limits: UserLoad.Limits) {
        self.uid = uid
        load = UserLoad(limits: limits)
    }
}

/// The users with connections or unstored reports.
struct SocketUsers {
    private var users: [UInt32: SocketUser] = [:]
    /// Closed connections with reports that are not stored yet.
    private var orphans: [UInt64: Orphan] = [:]
    /// The users for whom `hasFreedCapacity` is `true`.
    private var withFreedCapacity: [SocketUser] = []

    subscript(uid: UInt32) -> SocketUser? { users[uid] }

    /// Adds a user. Adding the same user again changes nothing.
    mutating func insert(_ user: SocketUser) { users[user.uid] = user }

    /// Whether there are users whose throttled connections may be able to resume.
    var haveFreedCapacity: Bool { !withFreedCapacity.isEmpty }

    /// Marks a user whose throttled connections may be able to resume.
    mutating func markCapacityFreed(_ user: SocketUser) {
        guard !user.hasFreedCapacity else { return }
        user.hasFreedCapacity = true
        withFreedCapacity.append(user)
    }

    /// Returns the marked users, and removes the marks.
    mutating func takeFreedCapacity() -> [SocketUser] {
        guard !withFreedCapacity.isEmpty else { return [] }
        defer { withFreedCapacity = [] }
        for user in withFreedCapacity { user.hasFreedCapacity = false }
        return withFreedCapacity
    }

    /// Records that a connection was closed.
    ///
    /// - Parameters:
    ///   - reports: The number of its reports that are still being stored.
    ///   - bytes: The size of these reports, as counted against the user's limits.
    mutating func closed(_ connection: UInt64, of user: SocketUser, reports: Int, bytes: Int) {
        markCapacityFreed(user)
        if reports > 0 { orphans[connection] = Orphan(user: user, bytes: bytes, reports: reports) }
        forget(user)
    }

    /// Handles the answer to a report of a closed connection.
    ///
    /// - Returns: The bytes that are released; 0 while other reports of the connection are unanswered, or if the
    ///   connection is unknown.
    mutating func answeredOrphan(_ connection: UInt64) -> Int {
        guard var orphan = orphans[connection] else { return 0 }
        orphan.reports -= 1
        orphans[connection] = orphan.reports > 0 ? orphan : nil
        guard orphan.reports == 0 else { return 0 }
        orphan.user.load.changed(unanswered: -orphan.bytes)
        markCapacityFreed(orphan.user)
        forget(orphan.user)
        return orphan.bytes
    }

    /// Removes the user if they have neither connections nor unstored reports.
    private mutating func forget(_ user: SocketUser) {
        if user.load.connections == 0, user.load.unanswered == 0 { users[user.uid] = nil }
    }
}

/// The reports of a closed connection. They count towards their user's load until all of them are answered.
private struct Orphan {
    var user: SocketUser
    var bytes: Int
    var reports: Int
}
