package import IssueCore

/// What somebody has said of a group, as a database that was set aside still has it.
package struct GroupNote: Equatable, Sendable {
    /// Whose group it is: a user's application's.
    package var uid: UInt32
    package var app: String
    package var fingerprint: String
    package var rule: Int64

    package var standing: GroupStanding
}
