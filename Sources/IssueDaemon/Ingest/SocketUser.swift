import IssueCore

/// A user with connections, or with reports that are not stored yet; together with all who count as the same user.
final class SocketUser {
    let uid: UInt32
    var load: UserLoad
    var connections: Set<UInt64> = []
    /// Whether it waits because all users together hold much.
    var isCrowdedOut = false
    /// Whether he has less under way than he had, so that others of his connections may go on.
    var isLoosened = false

    init(uid: UInt32, limits: UserLoad.Limits) {
        self.uid = uid
        load = UserLoad(limits: limits)
    }
}
