package import IssueWire

/// The parameters of `Report`.
package struct ReportParameters: Equatable, Sendable {
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
}

extension ReportParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var records: [IssueRecord] = []
        var producer: String?
        var sequence: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "records": try scanner.read(&records, key)
            case "producer": try scanner.read(&producer, key)
            case "sequence": try scanner.read(&sequence, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            records: records,
            producer: producer,
            sequence: sequence
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("records", records)
        writer.member("producer", ifPresent: producer)
        writer.member("sequence", ifPresent: sequence)
        writer.closeObject()
    }
}

/// The parameters of `SetState`.
package struct SetStateParameters: Equatable, Sendable {
    package var group: String
    package var state: GroupState
    /// The end of a mute; nil if it has none.
    package var until: Timestamp?
    /// `true` if only a newer version of the application ends the state.
    package var untilNewerVersion: Bool?

    package init(group: String, state: GroupState, until: Timestamp? = nil, untilNewerVersion: Bool? = nil) {
        self.group = group
        self.state = state
        self.until = until
        self.untilNewerVersion = untilNewerVersion
    }
}

extension SetStateParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var group: String?
        var state: GroupState?
        var until: Timestamp?
        var untilNewerVersion: Bool?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "group": try scanner.read(&group, key)
            case "state": try scanner.read(&state, key)
            case "until": try scanner.read(&until, key)
            case "until_newer_version": try scanner.read(&untilNewerVersion, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            group: try group.required("group"),
            state: try state.required("state"),
            until: until,
            untilNewerVersion: untilNewerVersion
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("group", group)
        writer.member("state", state)
        writer.member("until", ifPresent: until)
        writer.member("until_newer_version", ifPresent: untilNewerVersion)
        writer.closeObject()
    }
}

/// The reply of `SetState`: the group after the change.
package struct SetStateReply: Equatable, Sendable {
    package var group: IssueGroup

    package init(group: IssueGroup) {
        self.group = group
    }
}

extension SetStateReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var group: IssueGroup?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "group": try scanner.read(&group, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(group: try group.required("group"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("group", group)
        writer.closeObject()
    }
}

/// The parameters of `DeadLetters`.
package struct DeadLettersParameters: Equatable, Sendable {
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
}

extension DeadLettersParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destination": try scanner.read(&destination, key)
            case "records": try scanner.read(&records, key)
            case "lines": try scanner.read(&lines, key)
            case "limit": try scanner.read(&limit, key)
            case "after": try scanner.read(&after, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destination", ifPresent: destination)
        writer.member("records", ifPresent: records)
        writer.member("lines", ifPresent: lines)
        writer.member("limit", ifPresent: limit)
        writer.member("after", ifPresent: after)
        writer.closeObject()
    }
}

/// The reply of `DeadLetters`.
package struct DeadLettersReply: Equatable, Sendable {
    package var deadLetters: [DeadLetter]
    /// The cursor of the next page; nil if this is the last one.
    package var next: String?

    package init(deadLetters: [DeadLetter], next: String? = nil) {
        self.deadLetters = deadLetters
        self.next = next
    }
}

extension DeadLettersReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var deadLetters: [DeadLetter]?
        var next: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "dead_letters": try scanner.read(&deadLetters, key)
            case "next": try scanner.read(&next, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(deadLetters: try deadLetters.required("dead_letters"), next: next)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("dead_letters", deadLetters)
        writer.member("next", ifPresent: next)
        writer.closeObject()
    }
}
