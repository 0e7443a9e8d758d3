package import IssueWire

/// A record with its group and its fates (the reply of `Show`).
public struct IssueDetails: Equatable, Sendable {
    /// The record. Nil if no record of the group is stored any longer.
    public var record: StoredRecord?
    /// The group.
    public var group: IssueGroup
    /// The fate of the record for each destination.
    public var fates: [IssueFate]

    package init(record: StoredRecord? = nil, group: IssueGroup, fates: [IssueFate]) {
        self.record = record
        self.group = group
        self.fates = fates
    }
}

extension IssueDetails: CustomStringConvertible {
    /// A line each for the record, the group and each fate.
    public var description: String {
        let record = record?.description ?? "No record of the group is stored any longer."
        let fates = fates.map { TerminalSanitizer.line($0.description) }
        return ([record, group.description] + fates).joined(separator: "\n")
    }
}

extension IssueDetails: JSONObjectCodable {
    package static var initial: Self { Self(group: .initial, fates: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("record", &record)
        try members.required("group", &group)
        try members.defaulted("fates", &fates, [])
    }
}
