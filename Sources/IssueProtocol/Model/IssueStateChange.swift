public import IssueWire

/// The user who set the state of an issue, the time, and their note (`StateChange` on the wire).
public struct IssueStateChange: Equatable, Sendable {
    /// The maximum size of a note, in bytes.
    package static let maxNoteBytes = 1024

    /// The id of the user.
    public var user: UInt32
    /// The time at which the user set the state.
    public var time: IssueTimestamp
    /// The note of the user, of at most 1024 bytes. Nil if there is none.
    public var note: String?

    package init(user: UInt32, time: IssueTimestamp, note: String? = nil) {
        self.user = user
        self.time = time
        self.note = note
    }
}

extension IssueStateChange: JSONObjectCodable {
    package static var initial: Self { Self(user: 0, time: .epoch) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("uid", &user)
        try members.required("at", &time)
        try members.optional("note", &note)
    }
}
