package import IssueWire

/// The parameters of `MergeGroups`.
package struct MergeGroupsParameters: Equatable, JSONObjectCodable, Sendable {
    /// The id of the group that stays.
    package var into: String
    /// The ids of the groups that are merged into `into`.
    package var groups: [String]
    package var reason: String?

    package init(into: String, groups: [String], reason: String? = nil) {
        self.into = into
        self.groups = groups
        self.reason = reason
    }

    package static var initial: Self { Self(into: "", groups: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("into", &into)
        try members.required("groups", &groups)
        try members.optional("reason", &reason)
    }
}

/// The parameters of `SplitGroup`.
package struct SplitGroupParameters: Equatable, JSONObjectCodable, Sendable {
    package var group: String
    /// The pattern for the titles of records that move to a new group. Nil to undo merges: if the group was merged into
    /// another one, that merge; otherwise, all merges into the group.
    package var template: String?
    package var reason: String?

    package init(group: String, template: String? = nil, reason: String? = nil) {
        self.group = group
        self.template = template
        self.reason = reason
    }

    package static var initial: Self { Self(group: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("group", &group)
        try members.optional("template", &template)
        try members.optional("reason", &reason)
    }
}

/// The parameters of `SplitByField`.
package struct SplitByFieldParameters: Equatable, JSONObjectCodable, Sendable {
    package var group: String
    package var field: IssueSplitField
    package var reason: String?
    /// Whether to only return the values. Nil means `false`.
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

/// The parameters of `AddGroupRule`.
package struct AddGroupRuleParameters: Equatable, JSONObjectCodable, Sendable {
    /// The id of the group that gets the records.
    package var group: String
    /// The pattern for the titles of the groups to merge.
    package var template: String
    package var reason: String?
    /// Whether to only count the groups that would be merged. Nil means `false`.
    package var isDryRun: Bool?

    package init(group: String, template: String, reason: String? = nil, isDryRun: Bool? = nil) {
        self.group = group
        self.template = template
        self.reason = reason
        self.isDryRun = isDryRun
    }

    package static var initial: Self { Self(group: "", template: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("group", &group)
        try members.required("template", &template)
        try members.optional("reason", &reason)
        try members.optional("dry_run", &isDryRun)
    }
}

/// The reply of `MergeGroups` and `AddGroupRule`.
package struct MergeGroupsReply: Equatable, JSONObjectCodable, Sendable {
    /// The group that the others were merged into or, in a dry run, would be.
    package var group: IssueGroup
    /// The number of groups that were merged or, in a dry run, would be.
    package var count: Int64
    /// The numbers of the corrections that were made, for undoing them. Nil in a dry run, and from older daemons.
    package var corrections: [Int64]?

    package init(group: IssueGroup, count: Int64, corrections: [Int64]? = nil) {
        self.group = group
        self.count = count
        self.corrections = corrections
    }

    package static var initial: Self { Self(group: .initial, count: 0) }

    /// Adds the reply of a later call, so that this reply covers both calls: adds the count, appends the corrections,
    /// and replaces `group`.
    package mutating func add(_ later: Self) {
        group = later.group
        count &+= later.count
        if let made = later.corrections { corrections = (corrections ?? []) + made }
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("group", &group)
        try members.defaulted("count", &count, 0)
        try members.optional("corrections", &corrections)
    }
}

/// The reply of `SplitGroup`: the groups that the records belong to now. With a template, the new group is first and
/// the old one second.
package struct SplitGroupReply: Equatable, JSONObjectCodable, Sendable {
    package var groups: [IssueGroup]
    /// The numbers of the corrections that were made, for undoing them. Nil if merges were undone, and from older
    /// daemons.
    package var corrections: [Int64]?

    package init(groups: [IssueGroup], corrections: [Int64]? = nil) {
        self.groups = groups
        self.corrections = corrections
    }

    package static var initial: Self { Self(groups: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("groups", &groups)
        try members.optional("corrections", &corrections)
    }
}

/// The reply of `SplitByField`.
package struct SplitByFieldReply: Equatable, JSONObjectCodable, Sendable {
    /// The groups after the split, in the order of the values. Empty in a dry run.
    package var groups: [IssueGroup]
    /// The values of the field, oldest first; an empty string represents records without a value. Records with the
    /// first value stay in the group.
    package var values: [String]
    /// The numbers of the corrections that were made, for undoing them. Nil in a dry run, and from older daemons.
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

/// The parameters of `Corrections`.
package struct CorrectionsParameters: Equatable, JSONObjectCodable, Sendable {
    /// The group whose corrections are listed; nil for all groups.
    package var group: String?

    package init(group: String? = nil) {
        self.group = group
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("group", &group)
    }
}

/// The reply of `Corrections`.
package struct CorrectionsReply: Equatable, JSONObjectCodable, Sendable {
    package var corrections: [GroupCorrection]

    package init(corrections: [GroupCorrection]) {
        self.corrections = corrections
    }

    package static var initial: Self { Self(corrections: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("corrections", &corrections)
    }
}

/// The parameters of `UndoCorrection`.
package struct UndoCorrectionParameters: Equatable, JSONObjectCodable, Sendable {
    package var id: Int64

    package init(id: Int64) {
        self.id = id
    }

    package static var initial: Self { Self(id: 0) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
    }
}

/// The reply of `UndoCorrection`: the groups that the records belong to now, at most 1,000.
package struct UndoCorrectionReply: Equatable, JSONObjectCodable, Sendable {
    package var groups: [IssueGroup]

    package init(groups: [IssueGroup]) {
        self.groups = groups
    }

    package static var initial: Self { Self(groups: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("groups", &groups)
    }
}

/// The parameters of `SuggestMerges`.
package struct SuggestMergesParameters: Equatable, JSONObjectCodable, Sendable {
    /// The application; nil for all.
    package var app: String?
    /// The maximum number of suggestions; nil for the daemon's default.
    package var limit: Int?

    package init(app: String? = nil, limit: Int? = nil) {
        self.app = app
        self.limit = limit
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("app", &app)
        try members.optional("limit", &limit)
    }
}

/// Two groups that may be the same issue.
public struct MergeSuggestion: Equatable, Sendable {
    /// The ids of the groups.
    public var groups: [String]
    /// The titles of the groups, in the same order.
    public var titles: [String]
    /// For each title, the word in which it differs from the other title.
    public var words: [String]
    /// The name of the application of both groups.
    public var app: String

    package init(groups: [String], titles: [String], words: [String], app: String) {
        self.groups = groups
        self.titles = titles
        self.words = words
        self.app = app
    }
}

extension MergeSuggestion: JSONObjectCodable {
    package static var initial: Self { Self(groups: [], titles: [], words: [], app: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("groups", &groups)
        try members.required("titles", &titles)
        try members.required("words", &words)
        try members.required("app", &app)
    }
}

/// The reply of `SuggestMerges`.
package struct SuggestMergesReply: Equatable, JSONObjectCodable, Sendable {
    package var suggestions: [MergeSuggestion]

    package init(suggestions: [MergeSuggestion]) {
        self.suggestions = suggestions
    }

    package static var initial: Self { Self(suggestions: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("suggestions", &suggestions)
    }
}
