import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// A change that a user made to the state of a group or to the grouping, for the log.
struct GroupChange {
    var request: String
    var group: String
    /// The name and value of a further field of the log line.
    var name: String
    var value: String
    /// The numbers of the corrections that were made.
    var corrections: [Int64]

    init(_ request: String, _ group: String, _ name: String, _ value: some Sendable, _ corrections: [Int64] = []) {
        (self.request, self.group, self.corrections) = (request, group, corrections)
        (self.name, self.value) = (name, "\(value)")
    }
}

/// Queries and changes of the grouping: merging, splitting, rules, explanations and suggestions.
///
/// Users may correct their own groups, and operators all groups.
struct GroupingQueries {
    /// A query or a change.
    enum Work: Sendable {
        case merge(MergeGroupsParameters)
        case split(SplitGroupParameters)
        case splitByField(SplitByFieldParameters)
        case addRule(AddGroupRuleParameters)
        case corrections(CorrectionsParameters)
        case undo(UndoCorrectionParameters)
        case explain(String)
        case suggest(SuggestMergesParameters)
    }

    let reader: StoreReader
    let writer: WriterService
    let viewer: Viewer
    let requester: Sender
    let isOperator: Bool
    /// Returns a reason without the values that redaction removes; nil if nothing remains.
    let redacted: (String?) -> String?
    /// Protects the query from interruption, because its reply must report the change. Called before the writer makes a
    /// change. Throws if the user has made too many changes lately, or if the query was already interrupted.
    let protect: () throws -> Void

    /// The maximum number of groups that a rule merges when it is added.
    private static let maxMerged = 1000
    /// A group can't be split by a field with more values than this.
    private static let maxSplit = StoreWriter.maxRules
    private static let defaultSuggestions = 20
    private static let maxSuggestions = 200

    /// The parameters of the reply, and the change for the log; the change is nil for a query or a dry run.
    typealias Answer = (reply: any JSONCodable, change: GroupChange?)

    func answer(_ work: Work) throws -> Answer {
        switch work {
        case .merge(let parameters): try merge(parameters)
        case .split(let parameters): try split(parameters)
        case .splitByField(let parameters): try splitByField(parameters)
        case .addRule(let parameters): try addRule(parameters)
        case .corrections(let parameters):
            (CorrectionsReply(corrections: try reader.corrections(of: parameters.group, viewer: viewer)), nil)
        case .undo(let parameters): try undo(parameters)
        case .explain(let id): (try reader.explain(id, viewer: viewer), nil)
        case .suggest(let parameters): try suggest(parameters)
        }
    }

    private func merge(_ parameters: MergeGroupsParameters) throws -> Answer {
        try QueryLimits.check("groups", count: parameters.groups.count)
        guard !parameters.groups.isEmpty else { throw QueryFailure.invalidParameter("groups") }
        let author = try author(parameters.reason)
        let target = try own(parameters.into)
        let groups = try parameters.groups.map { id in
            let group = try own(id)
            guard group.account == target.account else {
                throw QueryFailure.invalidFilter(
                    field: "groups", reason: "\(id) and \(parameters.into) belong to different applications or users")
            }
            return group.group
        }
        try protect()
        guard let corrections = try writer.perform({ try $0.merge(groups, into: target.group, by: author) }) else {
            throw tooMany
        }
        let reply = MergeGroupsReply(
            group: try reader.show(parameters.into, viewer: viewer).group, count: Int64(corrections.count),
            corrections: corrections)
        return (reply, GroupChange("merge_groups", parameters.into, "merged", corrections.count, corrections))
    }

    private func split(_ parameters: SplitGroupParameters) throws -> Answer {
        let author = try author(parameters.reason)
        let groups: [GroupID]
        var corrections: [Int64]?
        if let template = parameters.template {
            let pattern = try pattern(template)
            let source = try own(parameters.group)
            let (sample, isAll) = try reader.match(pattern, in: source.group)
            guard let sample else {
                throw QueryFailure.invalidFilter(field: "template", reason: "no record of the group matches")
            }
            guard !isAll else {
                throw QueryFailure.invalidFilter(field: "template", reason: "all records of the group match")
            }
            let part = StoreWriter.SplitPart(selector: .title(pattern), sample: sample)
            let split = try split(source, into: [part], author)
            groups = split.groups.reversed()
            corrections = split.corrections
        } else {
            // The group that has this id itself, even if it was merged into another one.
            let group = try reader.group(withOwnID: parameters.group, viewer: viewer)
            _ = try own(parameters.group)
            try protect()
            var found: [GroupID] = []
            for id in try writer.perform({ try $0.mergesToUndo(of: group) }) {
                for group in try undo(correction: id, by: author) ?? [] where !found.contains(group) {
                    found.append(group)
                }
            }
            groups = found
            guard !groups.isEmpty else {
                throw QueryFailure.invalidFilter(
                    field: "group",
                    reason: "there is no merge of this group to undo; a split or rule is undone by its number")
            }
        }
        return (
            SplitGroupReply(groups: try reader.groups(groups), corrections: corrections),
            GroupChange("split_group", parameters.group, "groups", groups.count, corrections ?? [])
        )
    }

    private func splitByField(_ parameters: SplitByFieldParameters) throws -> Answer {
        let author = try author(parameters.reason)
        let (field, source) = (parameters.field, try own(parameters.group))
        let valuesByField = try reader.values(ofGroup: source.group, limit: Self.maxSplit + 1)
        let found = valuesByField[field] ?? []
        let values = found.map(\.value)
        guard values.count > 1 else {
            let others = IssueSplitField.allCases.filter { (valuesByField[$0] ?? []).count > 1 }.map(\.rawValue)
            let value = values.first.flatMap { $0.isEmpty ? nil : "\"\($0)\"" }
            throw QueryFailure.invalidFilter(
                field: "field",
                reason: "all records of the issue have "
                    + (value.map { "the same \(field.rawValue), \($0)" } ?? "no \(field.rawValue)")
                    + (others.isEmpty
                        ? "; they do not differ in any field that an issue can be split by"
                        : "; they differ in \(others.joined(separator: ", "))"))
        }
        guard values.count <= Self.maxSplit else {
            throw QueryFailure.invalidFilter(
                field: "field",
                reason: "the issue has too many values of \(field.rawValue); a split allows at most \(Self.maxSplit)")
        }
        guard parameters.isDryRun != true else { return (SplitByFieldReply(groups: [], values: values), nil) }
        let (groups, corrections) = try split(
            source,
            into: found.dropFirst().map {
                StoreWriter.SplitPart(selector: .field(field, value: $0.value), sample: $0.sample)
            }, author)
        return (
            SplitByFieldReply(groups: try reader.groups(groups), values: values, corrections: corrections),
            GroupChange("split_by_field", parameters.group, "groups", groups.count, corrections)
        )
    }

    /// Splits a group in steps, so that reports need not wait until all records have moved.
    ///
    /// - Returns: The split group followed by the new groups, and the numbers of the corrections that were made.
    private func split(
        _ source: StoreReader.Subject, into parts: [StoreWriter.SplitPart], _ author: StoreWriter.CorrectionAuthor
    ) throws -> (groups: [GroupID], corrections: [Int64]) {
        guard try !reader.hasTooManyFormerSplits(source.uid) else { throw tooMany }
        try protect()
        guard var split = try writer.perform({ try $0.beginSplit(source.group, into: parts, author) }) else {
            throw tooMany
        }
        while !split.isDone {
            let next = split
            split = try writer.perform { try $0.proceed(with: next) }
        }
        let groups = [split.source] + split.targets
        try describe(groups)
        return (groups, split.corrections)
    }

    private func addRule(_ parameters: AddGroupRuleParameters) throws -> Answer {
        let author = try author(parameters.reason)
        let pattern = try pattern(parameters.template)
        let target = try own(parameters.group)
        let groups = try reader.groups(of: target, matching: pattern, limit: Self.maxMerged + 1)
        guard groups.count <= Self.maxMerged else {
            throw QueryFailure.invalidFilter(
                field: "template", reason: "more than \(Self.maxMerged) groups match; use a longer pattern")
        }
        var corrections: [Int64]?
        if parameters.isDryRun != true {
            try protect()
            let added = try writer.perform { try $0.addRule(pattern, merging: groups, into: target.group, by: author) }
            guard let added else { throw tooMany }
            corrections = [added]
        }
        let reply = MergeGroupsReply(
            group: try reader.show(parameters.group, viewer: viewer).group, count: Int64(groups.count),
            corrections: corrections)
        let change = corrections.map { GroupChange("add_group_rule", parameters.group, "merged", groups.count, $0) }
        return (reply, change)
    }

    private func undo(_ parameters: UndoCorrectionParameters) throws -> Answer {
        let id = parameters.id
        guard let owner = try reader.owner(ofCorrection: id, viewer: viewer) else {
            throw QueryFailure.notFound(id: "\(id)")
        }
        guard isOperator || owner == requester.uid else { throw CollectorError.denied }
        try protect()
        guard let groups = try undo(correction: id, by: author(nil)) else { throw QueryFailure.notFound(id: "\(id)") }
        let changed = try reader.groups(groups)
        return (
            UndoCorrectionReply(groups: changed),
            GroupChange("undo_correction", changed.first?.id ?? "", "correction", id)
        )
    }

    /// Undoes a correction in steps, so that reports need not wait until all records have moved.
    ///
    /// - Returns: The groups that the correction's records belong to now, at most 1,000; nil if the correction does not
    ///   exist.
    private func undo(correction id: Int64, by author: StoreWriter.CorrectionAuthor) throws -> [GroupID]? {
        var undoing = StoreWriter.Undoing(correction: id, by: author)
        while !undoing.isDone {
            let next = undoing
            guard let done = try writer.perform({ try $0.proceed(with: next) }) else { return nil }
            undoing = done
            try describe(undoing.takeUndescribed())
        }
        return undoing.groups
    }

    /// Sets the attributes of groups that have gained or lost series. The attributes are read on this thread, so that
    /// the writer stays free.
    private func describe(_ groups: [GroupID]) throws {
        for group in groups {
            let attributes = try reader.attributes(of: group)
            try writer.perform { try $0.describe(group, attributes) }
        }
    }

    private func suggest(_ parameters: SuggestMergesParameters) throws -> Answer {
        let limit = parameters.limit ?? Self.defaultSuggestions
        guard limit > 0 else { throw QueryFailure.invalidParameter("limit") }
        let found = try reader.suggestions(app: parameters.app, limit: min(limit, Self.maxSuggestions), viewer: viewer)
        return (SuggestMergesReply(suggestions: found), nil)
    }

    /// Returns the group with this id. Throws `CollectorError.denied` if the requester may not change the group.
    private func own(_ id: String) throws -> StoreReader.Subject {
        let subject = try reader.subject(id, viewer: viewer)
        guard isOperator || subject.uid == requester.uid else { throw CollectorError.denied }
        return subject
    }

    private func pattern(_ text: String) throws -> TitlePattern {
        guard let pattern = TitlePattern(text) else {
            throw QueryFailure.invalidFilter(
                field: "template",
                reason: "a pattern needs a character other than * and has at most \(TitlePattern.maxBytes) bytes")
        }
        return pattern
    }

    private func author(_ reason: String?) throws -> StoreWriter.CorrectionAuthor {
        guard reason.map({ $0.utf8.count <= GroupCorrection.maxReasonBytes }) ?? true else {
            throw QueryFailure.invalidParameter("reason")
        }
        return StoreWriter.CorrectionAuthor(uid: requester.uid, at: Clock.wall, reason: redacted(reason))
    }

    private var tooMany: QueryFailure {
        QueryFailure.invalidFilter(
            field: "group",
            reason:
                """
                too many corrections; the limits are \(StoreWriter.maxCorrections) corrections, \
                \(StoreWriter.maxRules) rules and \(StoreWriter.maxRules) splits per application, \
                \(StoreWriter.maxCorrectionsByUser) corrections per user, the same number of undone splits per user, \
                the same number of correction lines sent to destinations per user in 24 hours, and \
                \(StoreWriter.maxDepth) merges in a chain
                """
        )
    }
}
