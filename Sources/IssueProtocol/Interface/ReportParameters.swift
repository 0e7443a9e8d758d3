package import IssueWire

/// The parameters of `Report`.
package struct ReportParameters: Equatable, JSONObjectCodable, Sendable {
    package var records: [IssueRecord]
    /// The id of a sender that numbers its records, so that records it sends again are not stored twice; nil for none.
    package var producer: String?
    /// The sequence number of the first record.
    package var sequence: Int64?

    package init(records: [IssueRecord], producer: String? = nil, sequence: Int64? = nil) {
        self.records = records
        self.producer = producer
        self.sequence = sequence
    }

    package static var initial: Self { Self(records: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("records", &records, [])
        try members.optional("producer", &producer)
        try members.optional("sequence", &sequence)
    }
}

/// The parameters of `SetState`.
package struct SetStateParameters: Equatable, JSONObjectCodable, Sendable {
    package var group: String
    package var state: GroupState
    /// The end of a mute; nil if it has none.
    package var until: IssueTimestamp?
    /// `true` if only a newer version of the application ends the state.
    package var untilNewerVersion: Bool?
    /// The version that has the fix; nil unless only this version or a later one reopens the group.
    package var resolvedIn: String?
    /// `true` if the next declared deployment has the fix.
    package var isResolvedInNext: Bool?
    /// The number of occurrences after which a mute ends; nil if it does not end by their number.
    package var untilCount: Int64?
    /// A note for those who look at the group, of at most 1024 bytes. Nil for none, or to keep the note of a group that
    /// is already in this state, resolved or muted; empty to remove it.
    package var note: String?

    package init(
        group: String, state: GroupState, until: IssueTimestamp? = nil, untilNewerVersion: Bool? = nil,
        resolvedIn: String? = nil, isResolvedInNext: Bool? = nil, untilCount: Int64? = nil, note: String? = nil
    ) {
        self.note = note
        self.untilCount = untilCount
        self.resolvedIn = resolvedIn
        self.isResolvedInNext = isResolvedInNext
        self.group = group
        self.state = state
        self.until = until
        self.untilNewerVersion = untilNewerVersion
    }

    package static var initial: Self { Self(group: "", state: .open) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("group", &group)
        try members.required("state", &state)
        try members.optional("until", &until)
        try members.optional("until_newer_version", &untilNewerVersion)
        try members.optional("resolved_in", &resolvedIn)
        try members.optional("resolved_in_next", &isResolvedInNext)
        try members.optional("until_count", &untilCount)
        try members.optional("note", &note)
    }
}

/// The reply of `SetState`: the group after the change.
package struct SetStateReply: Equatable, JSONObjectCodable, Sendable {
    package var group: IssueGroup

    package init(group: IssueGroup) {
        self.group = group
    }

    package static var initial: Self { Self(group: .initial) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("group", &group)
    }
}

/// The parameters of `DeadLetters`.
package struct DeadLettersParameters: Equatable, JSONObjectCodable, Sendable {
    /// The destination whose dead letters are listed; nil for all.
    package var destination: String?
    /// The ids of the records whose dead letters are listed; nil for all.
    package var records: [String]?
    /// `true` to include the line that was to be sent.
    package var lines: Bool?
    /// The maximum number of dead letters in the reply; nil for the daemon's default.
    package var limit: Int?
    /// The `next` of the previous page; nil for the first page.
    package var after: String?

    package init(
        destination: String? = nil, records: [String]? = nil, lines: Bool? = nil, limit: Int? = nil,
        after: String? = nil
    ) {
        self.destination = destination
        self.records = records
        self.lines = lines
        self.limit = limit
        self.after = after
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("destination", &destination)
        try members.optional("records", &records)
        try members.optional("lines", &lines)
        try members.optional("limit", &limit)
        try members.optional("after", &after)
    }
}

/// The reply of `DeadLetters`.
package struct DeadLettersReply: Equatable, JSONObjectCodable, Sendable {
    package var deadLetters: [DeadLetter]
    /// The cursor of the next page; nil if this is the last one.
    package var next: String?

    package init(deadLetters: [DeadLetter], next: String? = nil) {
        self.deadLetters = deadLetters
        self.next = next
    }

    package static var initial: Self { Self(deadLetters: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("dead_letters", &deadLetters)
        try members.optional("next", &next)
    }
}
