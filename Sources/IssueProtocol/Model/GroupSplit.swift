package import IssueWire

/// A field by whose values a group can be split (`SplitField` on the wire).
///
/// These are the fields that all records of a series share. Metadata and the type of an error belong to single records,
/// so a group can't be split by them.
public enum IssueSplitField: String, CaseIterable, Sendable {
    /// The message without its variable parts, as in titles.
    case title
    /// The domain of the error.
    case domain
    /// The code of the error.
    case code
    /// The source file.
    case file
    /// The function.
    case function
    /// The module.
    case module
    /// The version of the application.
    case version
    /// The environment of the application, such as `production`.
    case environment
    /// The platform of the application.
    case platform
    /// The level.
    case level = "severity"
}

extension IssueSplitField: JSONStringEnum {}

/// The parameters of `SplitByField`.
package struct SplitByFieldParameters: Equatable, JSONObjectCodable, Sendable {
    package var group: String
    package var field: IssueSplitField
    package var reason: String?
    /// `true` to only return the values.
    package var isDryRun: Bool?

    package init(group: String, field: IssueSplitField, reason: String? = nil, isDryRun: Bool? = nil) {
        self.group = group
        self.field = field
        self.reason = reason
        self.isDryRun = isDryRun
    }

    package static var initial: Self { Self(group: "", field: .domain) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("group", &group)
        try members.required("field", &field)
        try members.optional("reason", &reason)
        try members.optional("dry_run", &isDryRun)
    }
}

/// The reply of `SplitByField`.
package struct SplitByFieldReply: Equatable, JSONObjectCodable, Sendable {
    /// The groups after the split, in the order of the values. Empty if nothing was split.
    package var groups: [IssueGroup]
    /// The values of the field, oldest first; an empty text is that of records without a value. Records with the first
    /// value stay in the group.
    package var values: [String]
    /// The numbers of the corrections that were made, for undoing them. Nil if none was, and from older daemons.
    package var corrections: [Int64]?

    package init(groups: [IssueGroup], values: [String], corrections: [Int64]? = nil) {
        self.groups = groups
        self.values = values
        self.corrections = corrections
    }

    package static var initial: Self { Self(groups: [], values: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("groups", &groups)
        try members.required("values", &values)
        try members.optional("corrections", &corrections)
    }
}
