internal import IssueProtocol
internal import Issues

/// Users can correct the grouping of their own issues, and operators that of all issues.
///
/// Corrections also apply to future records. They can be undone.
extension IssueBrowser {
    /// Merges issues of one application into one of them. The ids of the merged issues remain valid.
    ///
    /// - Parameters:
    ///   - groups: The ids of the groups that are merged.
    ///   - target: The id of the group that gets their records.
    ///   - reason: The reason, which is stored with the corrections. At most 1,024 bytes. Nil for none.
    /// - Returns: `group` is the group after the change. `count` is the number of groups that were merged, without
    ///   those that belonged to it already.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if a group does not exist or the caller may not see it,
    ///   `.denied` if the caller may not change it, `.refused` if the groups belong to different applications or there
    ///   are too many corrections, or another code if the daemon cannot be reached.
    @discardableResult
    public func merge(
        _ groups: [String], into target: String, reason: String? = nil
    ) async throws -> (group: IssueGroup, count: Int) {
        let reply = try await ask(
            CollectorCalls.mergeGroups, MergeGroupsParameters(into: target, groups: groups, reason: reason))
        return (reply.group, Int(clamping: reply.count))
    }

    /// Moves the records whose titles match a pattern to an issue of their own.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - template: The pattern for titles. `*` matches any text.
    ///   - reason: The reason, which is stored with the correction. At most 1,024 bytes. Nil for none.
    /// - Returns: The new group, then the old one.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the group does not exist or the caller may not see
    ///   it, `.denied` if the caller may not change it, `.refused` if no record matches, if all match or if there are
    ///   too many corrections, or another code if the daemon cannot be reached.
    @discardableResult
    public func split(_ group: String, template: String, reason: String? = nil) async throws -> [IssueGroup] {
        let parameters = SplitGroupParameters(group: group, template: template, reason: reason)
        return try await order(CollectorCalls.splitGroup, parameters).groups
    }

    /// Moves the records with each value of a field to an issue of their own. Those with the value that was reported
    /// first stay in the group.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - field: The field.
    ///   - reason: The reason, which is stored with the corrections. At most 1,024 bytes. Nil for none.
    ///   - isDryRun: Whether to return the values without splitting the group.
    /// - Returns: `values` are the values of the field, oldest first; an empty text stands for records without a value.
    ///   `groups` are the groups in the same order, and empty after a dry run.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the group does not exist or the caller may not see
    ///   it, `.denied` if the caller may not change it, `.refused` if there is one value only or if there are too many
    ///   values or corrections, or another code if the daemon cannot be reached.
    @discardableResult
    public func split(
        _ group: String, by field: IssueSplitField, reason: String? = nil, dryRun isDryRun: Bool = false
    ) async throws -> (groups: [IssueGroup], values: [String]) {
        let parameters = SplitByFieldParameters(
            group: group, field: field, reason: reason, isDryRun: isDryRun ? true : nil)
        let reply = try await order(CollectorCalls.splitByField, parameters)
        return (reply.groups, reply.values)
    }

    /// Undoes the merges into an issue or, if the issue was merged into another one, that merge.
    ///
    /// - Parameter group: The id of the group.
    /// - Returns: The groups that the records belong to now.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the group does not exist or the caller may not see
    ///   it, `.denied` if the caller may not change it, `.refused` if it was not merged, or another code if the daemon
    ///   cannot be reached.
    @discardableResult
    public func undoMerges(of group: String) async throws -> [IssueGroup] {
        try await order(CollectorCalls.splitGroup, SplitGroupParameters(group: group)).groups
    }

    /// Merges all issues whose titles match a pattern into one issue, including future ones.
    ///
    /// - Parameters:
    ///   - template: The pattern for titles. `*` matches any text.
    ///   - group: The id of the group that gets the records.
    ///   - reason: The reason, which is stored with the correction. At most 1,024 bytes. Nil for none.
    ///   - isDryRun: Whether to count the groups without merging them.
    /// - Returns: `group` is the group after the change. `count` is the number of groups that match now.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the group does not exist or the caller may not see
    ///   it, `.denied` if the caller may not change it, `.refused` if the pattern is invalid, if more than 1,000 groups
    ///   match or if there are too many rules, or another code if the daemon cannot be reached.
    @discardableResult
    public func addRule(
        _ template: String, mergingInto group: String, reason: String? = nil, dryRun isDryRun: Bool = false
    ) async throws -> (group: IssueGroup, count: Int) {
        let parameters = AddGroupRuleParameters(
            group: group, template: template, reason: reason, isDryRun: isDryRun ? true : nil)
        let reply = try await ask(CollectorCalls.addGroupRule, parameters)
        return (reply.group, Int(clamping: reply.count))
    }

    /// Returns the corrections of the grouping, newest first.
    ///
    /// - Parameter group: The id of a group. Nil returns the corrections of all groups.
    /// - Returns: The corrections; at most 1,000.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the group does not exist or the caller may not see
    ///   it, or another code if the daemon cannot be reached.
    public func corrections(of group: String? = nil) async throws -> [GroupCorrection] {
        let reply = try await ask(CollectorCalls.corrections, CorrectionsParameters(group: group))
        return reply.corrections
    }

    /// Undoes a correction, also for the records that have arrived since.
    ///
    /// If the daemon stops before it replies, call it again.
    ///
    /// - Parameter correction: ``GroupCorrection/id`` of the correction.
    /// - Returns: The groups that the records belong to now; at most 1,000.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the correction does not exist or the caller may not
    ///   see it, `.denied` if the caller may not change it, or another code if the daemon cannot be reached.
    @discardableResult
    public func undo(_ correction: Int64) async throws -> [IssueGroup] {
        try await order(CollectorCalls.undoCorrection, UndoCorrectionParameters(id: correction)).groups
    }

    /// Returns why a record is in its group.
    ///
    /// - Parameter id: The id of a record, or that of a group, which stands for its newest record.
    /// - Returns: The group, the origin of the fingerprint, and the corrections.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such record or group exists or the caller may not
    ///   see it, or another code if the daemon cannot be reached.
    public func explain(_ id: String) async throws -> GroupExplanation {
        try await ask(CollectorCalls.explain, IDParameters(id: id))
    }

    /// Returns pairs of issues that may be the same, because their titles differ in one word or value. Merges nothing.
    ///
    /// - Parameters:
    ///   - app: The name of an application. Nil compares the issues of each application.
    ///   - limit: The maximum number of suggestions. Nil means 20; the daemon returns at most 200.
    /// - Returns: The pairs.
    /// - Throws: `IssueDeliveryError` if the daemon cannot be reached or refuses the query.
    public func suggestMerges(app: String? = nil, limit: Int? = nil) async throws -> [MergeSuggestion] {
        let reply = try await ask(
            CollectorCalls.suggestMerges, SuggestMergesParameters(app: app, limit: limit))
        return reply.suggestions
    }
}
