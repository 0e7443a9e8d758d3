package import IssueProtocol

/// The process at the other end of a connection, as the kernel describes it.
package struct ReportingProcess: Hashable, Sendable {
    /// A number that no other connection of this run of the daemon has.
    package var connection: UInt64
    package var sender: Sender
    /// When the process started, in the kernel's ticks since boot: tells it from a later one with the same pid.
    package var startTime: Int64

    /// The user whose limits apply: the sender's user, or the owner of a subordinate id.
    package var accountableUser: UInt32

    /// - Parameter accountableUser: Nil for the sender's own user id.
    package init(connection: UInt64, sender: Sender, startTime: Int64, accountableUser: UInt32? = nil) {
        self.connection = connection
        self.sender = sender
        self.startTime = startTime
        self.accountableUser = accountableUser ?? sender.uid
    }
}
