internal import IssueProtocol
internal import Issues

/// Users can change the state of their own issues, and operators the state of all issues.
extension IssueBrowser {
    /// Marks an issue as resolved. By default, its next record is a regression: the record reopens the issue and is
    /// announced.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - isUntilNewerVersion: `true` to reopen the issue only with a record from a newer version than the newest one
    ///     of the application at the time of the call.
    ///   - note: A note of at most 1,024 bytes, which users see with the issue. Nil sets no note, but keeps the note of
    ///     an issue that is already resolved; an empty note removes it.
    /// - Returns: The group after the change.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such group exists or the caller may not see it;
    ///   `.denied` if the caller may not change it; `.refused` if an argument is invalid; or another code if the daemon
    ///   cannot be reached.
    @discardableResult
    public func resolve(
        _ group: String, untilNewerVersion isUntilNewerVersion: Bool = false, note: String? = nil
    ) async throws -> IssueGroup {
        try await setState(
            SetStateParameters(
                group: group, state: .resolved, untilNewerVersion: isUntilNewerVersion ? true : nil, note: note))
    }

    /// Marks an issue as resolved in a version of its application. Records of versions without the fix do not reopen
    /// it.
    ///
    /// A version has the fix if it is the given one, or if it was deployed later and does not have a lower number or
    /// build. If no deployments were declared, the numbers and builds are compared or, if these determine no order, the
    /// times of the first reports.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - version: The version with the fix, as the application reports it. Nil for the next version that is declared
    ///     as deployed for the first time; until it is declared, no record reopens the issue.
    ///   - note: A note of at most 1,024 bytes, which users see with the issue. Nil sets no note, but keeps the note of
    ///     an issue that is already resolved; an empty note removes it.
    /// - Returns: The group after the change.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such group exists or the caller may not see it;
    ///   `.denied` if the caller may not change it; `.refused` if an argument is invalid; or another code if the daemon
    ///   cannot be reached.
    @discardableResult
    public func resolve(_ group: String, in version: String?, note: String? = nil) async throws -> IssueGroup {
        try await setState(
            SetStateParameters(
                group: group, state: .resolved, resolvedIn: version, isResolvedInNext: version == nil ? true : nil,
                note: note))
    }

    /// Mutes an issue: its records are stored and counted, but not forwarded or announced.
    ///
    /// Records that arrive while the issue is muted are never forwarded, even after it is reopened.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - end: The time at which muting ends. Nil if it does not end at a certain time.
    ///   - isUntilNewerVersion: `true` if muting ends with a record from a newer version than the newest one of the
    ///     application at the time of the call.
    ///   - count: The number of further occurrences after which muting ends. Nil if their number does not end it.
    ///   - note: A note of at most 1,024 bytes, which users see with the issue. Nil sets no note, but keeps the note of
    ///     an issue that is already muted; an empty note removes it.
    /// - Returns: The group after the change.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such group exists or the caller may not see it;
    ///   `.denied` if the caller may not change it; `.refused` if an argument is invalid; or another code if the daemon
    ///   cannot be reached.
    @discardableResult
    public func mute(
        _ group: String, until end: IssueTimestamp? = nil, untilNewerVersion isUntilNewerVersion: Bool = false,
        untilCount count: Int? = nil, note: String? = nil
    ) async throws -> IssueGroup {
        try await setState(
            SetStateParameters(
                group: group, state: .muted, until: end, untilNewerVersion: isUntilNewerVersion ? true : nil,
                untilCount: count.map { Int64($0) }, note: note))
    }

    /// Reopens a resolved or muted issue.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - note: A note of at most 1,024 bytes, which users see with the issue. Nil for none.
    /// - Returns: The group after the change.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such group exists or the caller may not see it;
    ///   `.denied` if the caller may not change it; `.refused` if an argument is invalid; or another code if the daemon
    ///   cannot be reached.
    @discardableResult
    public func reopen(_ group: String, note: String? = nil) async throws -> IssueGroup {
        try await setState(SetStateParameters(group: group, state: .open, note: note))
    }

    private func setState(_ parameters: SetStateParameters) async throws -> IssueGroup {
        let reply = try await call(CollectorCalls.setState, parameters)
        return reply.group
    }
}

/// Users can correct the grouping of their own issues, and operators the grouping of all issues.
///
/// Corrections also apply to future records. They can be undone.
extension IssueBrowser {
    /// Merges issues into another issue of the same application. The ids of the merged issues remain valid.
    ///
    /// - Parameters:
    ///   - groups: The ids of the groups that are merged.
    ///   - target: The id of the group that gets their records.
    ///   - reason: The reason, which is stored with the corrections. At most 1,024 bytes. Nil for none.
    /// - Returns: `group` is the target after the change. `count` is the number of issues that were merged. Groups that
    ///   were one issue before count once; those that were part of `target` do not count.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if a group does not exist or the caller may not see it;
    ///   `.denied` if the caller may not change it; `.refused` if an argument is invalid, if the groups belong to
    ///   different applications or users, or if there are too many corrections; or another code if the daemon cannot
    ///   be reached.
    @discardableResult
    public func merge(
        _ groups: [String], into target: String, reason: String? = nil
    ) async throws -> (group: IssueGroup, count: Int) {
        // If it were repeated, the reply would count no issue as merged.
        let reply = try await call(
            CollectorCalls.mergeGroups, MergeGroupsParameters(into: target, groups: groups, reason: reason),
            usesOwnConnection: true)
        return (reply.group, Int(clamping: reply.count))
    }

    /// Moves the records whose titles match a pattern to a new issue.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - template: The pattern for titles. `*` matches any text.
    ///   - reason: The reason, which is stored with the correction. At most 1,024 bytes. Nil for none.
    /// - Returns: The new group, then the old one.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the group does not exist or the caller may not see
    ///   it; `.denied` if the caller may not change it; `.refused` if an argument is invalid, if no record matches, if
    ///   all match or if there are too many corrections; or another code if the daemon cannot be reached.
    @discardableResult
    public func split(_ group: String, template: String, reason: String? = nil) async throws -> [IssueGroup] {
        let parameters = SplitGroupParameters(group: group, template: template, reason: reason)
        return try await runOperation(CollectorCalls.splitGroup, parameters).groups
    }

    /// Splits an issue by a field. The records with the value that was reported first stay in the issue. Those with any
    /// other value move to a new issue for that value. Future records with a value that is not known yet stay in the
    /// issue.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - field: The field.
    ///   - reason: The reason, which is stored with the corrections. At most 1,024 bytes. Nil for none.
    ///   - isDryRun: `true` to return the values without splitting the group.
    /// - Returns: `values` are the values of the field, oldest first; an empty string means records without a value.
    ///   `groups` are the groups in the same order, and empty after a dry run.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the group does not exist or the caller may not see
    ///   it; `.denied` if the caller may not change it; `.refused` if `reason` is too long, if there is only one value,
    ///   or if there are too many values or corrections; or another code if the daemon cannot be reached.
    @discardableResult
    public func split(
        _ group: String, by field: IssueSplitField, reason: String? = nil, dryRun isDryRun: Bool = false
    ) async throws -> (groups: [IssueGroup], values: [String]) {
        let parameters = SplitByFieldParameters(
            group: group, field: field, reason: reason, isDryRun: isDryRun ? true : nil)
        let reply = try await runOperation(CollectorCalls.splitByField, parameters)
        return (reply.groups, reply.values)
    }

    /// Undoes the merges into an issue or, if the issue was merged into another one, that merge. Merges by a rule are
    /// not undone.
    ///
    /// - Parameter group: The id of the group.
    /// - Returns: The groups that the records belong to now; at most 1,000 for each merge.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the group does not exist or the caller may not see
    ///   it; `.denied` if the caller may not change it; `.refused` if there is no merge by a user to undo; or another
    ///   code if the daemon cannot be reached.
    @discardableResult
    public func undoMerges(of group: String) async throws -> [IssueGroup] {
        try await runOperation(CollectorCalls.splitGroup, SplitGroupParameters(group: group)).groups
    }

    /// Merges all issues whose titles match a pattern into one issue of the same user and application. Also applies to
    /// future issues.
    ///
    /// If the daemon stops before it replies, see whether ``corrections(of:)`` has the rule before you call this
    /// function again. Otherwise there may be two rules.
    ///
    /// - Parameters:
    ///   - template: The pattern for titles. `*` matches any text.
    ///   - group: The id of the group that gets the records.
    ///   - reason: The reason, which is stored with the correction. At most 1,024 bytes. Nil for none.
    ///   - isDryRun: `true` to count the groups without merging them.
    /// - Returns: `group` is the group after the change. `count` is the number of other groups that match now.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the group does not exist or the caller may not see
    ///   it; `.denied` if the caller may not change it; `.refused` if an argument is invalid, if more than 1,000 groups
    ///   match or if there are too many rules; or another code if the daemon cannot be reached.
    @discardableResult
    public func addRule(
        _ template: String, mergingInto group: String, reason: String? = nil, dryRun isDryRun: Bool = false
    ) async throws -> (group: IssueGroup, count: Int) {
        let parameters = AddGroupRuleParameters(
            group: group, template: template, reason: reason, isDryRun: isDryRun ? true : nil)
        let reply = try await call(CollectorCalls.addGroupRule, parameters, usesOwnConnection: true)
        return (reply.group, Int(clamping: reply.count))
    }

    /// Returns the corrections of the grouping, newest first.
    ///
    /// - Parameter group: The id of a group. Nil returns the corrections of all groups.
    /// - Returns: The corrections; at most 1,000.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the group does not exist or the caller may not see
    ///   it, or another code if the daemon cannot be reached.
    public func corrections(of group: String? = nil) async throws -> [GroupCorrection] {
        let reply = try await call(CollectorCalls.corrections, CorrectionsParameters(group: group))
        return reply.corrections
    }

    /// Undoes a correction, also for the records that have arrived since.
    ///
    /// If the daemon stops before it replies, call this function again.
    ///
    /// - Parameter correction: ``GroupCorrection/id`` of the correction.
    /// - Returns: The groups that the records belong to now; at most 1,000.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if the correction does not exist or the caller may not
    ///   see it; `.denied` if the caller may not change it; or another code if the daemon cannot be reached.
    @discardableResult
    public func undo(_ correction: Int64) async throws -> [IssueGroup] {
        try await runOperation(CollectorCalls.undoCorrection, UndoCorrectionParameters(id: correction)).groups
    }

    /// Returns why a record is in its group.
    ///
    /// - Parameter id: The id of a record, or the id of a group to explain its newest record.
    /// - Returns: The group, the origin of the fingerprint, and the corrections.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such record or group exists or the caller may not
    ///   see it; `.refused` if the record is in a damaged part of the database; or another code if the daemon cannot be
    ///   reached.
    public func explain(_ id: String) async throws -> GroupExplanation {
        try await call(CollectorCalls.explain, IDParameters(id: id))
    }

    /// Returns pairs of issues that may be the same, because only one word of their titles differs. Merges nothing.
    ///
    /// - Parameters:
    ///   - app: The name of an application. Nil compares the issues within each application.
    ///   - limit: The maximum number of suggestions. Nil means 20; the daemon returns at most 200.
    /// - Returns: The pairs.
    /// - Throws: `IssueDeliveryError` if the daemon cannot be reached or refuses the query.
    public func suggestMerges(app: String? = nil, limit: Int? = nil) async throws -> [MergeSuggestion] {
        let reply = try await call(
            CollectorCalls.suggestMerges, SuggestMergesParameters(app: app, limit: limit))
        return reply.suggestions
    }
}

extension IssueBrowser {
    /// Starts to forward all pending records and corrections now, and waits until none of them is pending. Does not
    /// wait for paused destinations.
    ///
    /// Only operators may call this.
    ///
    /// - Parameters:
    ///   - destination: The name of a destination. Nil forwards to all destinations.
    ///   - timeout: The maximum time to wait. After it, the function returns the current status.
    /// - Returns: The status of the destinations.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller is not an operator; `.notFound` if no such
    ///   destination exists; or another code if the daemon cannot be reached.
    @discardableResult
    public func flush(destination: String? = nil, timeout: Duration = .seconds(30)) async throws -> [DestinationStatus]
    {
        let parameters = FlushParameters(destination: destination, timeout: timeout)
        let reply = try await call(
            CollectorCalls.flush, parameters, timeout: parameters.replyTimeout, usesOwnConnection: true
        ) {
            IssueDeliveryError($0, destination: destination)
        }
        return reply.destinations
    }

    /// Makes dead letters pending again.
    ///
    /// Only operators may call this.
    ///
    /// - Parameters:
    ///   - destination: The name of a destination. Nil selects the dead letters of all destinations.
    ///   - records: The ids of the records, summaries and corrections whose dead letters are requeued. Nil selects all.
    /// - Returns: `requeued` is the number of dead letters that are pending again. `left` is the number of dead
    ///   letters that cannot be requeued, because their record or summary is gone or unreadable, or because their
    ///   destination is no longer configured.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller is not an operator; `.notFound` if no
    ///   such destination exists or one of the ids has no dead letter, and then none is requeued; `.refused` if there
    ///   are too many ids; or another code if the daemon cannot be reached.
    @discardableResult
    public func requeue(
        destination: String? = nil, records: [String]? = nil
    ) async throws -> (requeued: Int, left: Int) {
        let parameters = RequeueParameters(destination: destination, records: records)
        let reply = try await runOperation(CollectorCalls.requeue, parameters) {
            IssueDeliveryError($0, destination: destination)
        }
        return (Int(clamping: reply.count), Int(clamping: reply.left))
    }

    /// Permanently erases records.
    ///
    /// Only operators may call this.
    ///
    /// - Parameters:
    ///   - filter: Selects the records. The daemon refuses an empty filter.
    ///   - isDryRun: `true` to count the records without erasing them.
    /// - Returns: `count` is the number of records. `unreachable` describes what may still contain some of them, such
    ///   as backups and destinations.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller is not an operator, or another code if the
    ///   daemon refuses the filter or cannot be reached.
    public func purge(
        _ filter: IssueFilter, dryRun isDryRun: Bool = false
    ) async throws -> (count: Int, unreachable: [String]) {
        let parameters = PurgeParameters(filter: filter, isDryRun: isDryRun ? true : nil)
        let reply = try await runOperation(CollectorCalls.purge, parameters)
        return (Int(clamping: reply.count), reply.unreachable)
    }

    /// Makes the daemon copy its whole store while it is running.
    ///
    /// Only operators may call this.
    ///
    /// - Returns: The path of the copy on the daemon's host, in the folder of the database.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller is not an operator, or another code if the
    ///   copy fails or the daemon cannot be reached.
    public func backup() async throws -> String {
        let reply = try await runOperation(CollectorCalls.backup, BackupParameters())
        guard let path = reply.path else {
            throw IssueDeliveryError(.malformed, "The daemon's reply contains no file path.")
        }
        return path
    }

    /// Recovers the readable records from stores that the daemon moved aside.
    ///
    /// Only operators may call this.
    ///
    /// - Parameters:
    ///   - file: The name of the database file to read. Nil selects all files that were moved aside.
    ///   - isDryRun: `true` to list the files without reading them.
    /// - Returns: `recovered` and `unreadable` are numbers of records; more may be unreadable if the tables that show
    ///   their number are damaged, too. `files` are the names of the selected files.
    ///   `unreadableFiles` are those in which nothing is readable, or that took too long to read; they are left
    ///   unchanged.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller is not an operator; `.notFound` if there is
    ///   no such file; or another code if the daemon cannot be reached.
    public func repair(
        _ file: String? = nil, dryRun isDryRun: Bool = false
    ) async throws -> (recovered: Int, unreadable: Int, files: [String], unreadableFiles: [String]) {
        let parameters = RepairParameters(file: file, isDryRun: isDryRun ? true : nil)
        let reply = try await runOperation(CollectorCalls.repair, parameters)
        return (Int(clamping: reply.recovered), Int(clamping: reply.unreadable), reply.files, reply.unreadableFiles)
    }
}

/// Users can declare deployments of their own applications, and operators deployments of all applications.
extension IssueBrowser {
    /// Declares that a version of an application was deployed.
    ///
    /// A version counts as newer than another one if it was first deployed later, unless its number or build is lower.
    /// If the latest declared deployment up to `time` already has this version, nothing is stored, so a program can
    /// call this at every start.
    ///
    /// - Parameters:
    ///   - app: The name of the application.
    ///   - version: The version as the application reports it, with the build in parentheses if it has one. At most 128
    ///     bytes.
    ///   - time: The time of the deployment, which must not be in the future. Nil means now.
    ///   - commit: The revision of the source code. At most 128 bytes. Nil if unknown.
    ///   - note: A note of at most 1,024 bytes. Nil for none.
    ///   - user: The id of the user whose application it is. Nil means the caller or, if the caller is an operator, all
    ///     users who have an application of this name.
    /// - Returns: `deployment` is the new deployment or, if nothing was stored, the earlier one. `isNew` is `false` if
    ///   nothing was stored.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller may not declare it; `.refused` if an
    ///   argument is invalid; or another code if the daemon cannot be reached.
    @discardableResult
    public func deploy(
        _ app: String, version: String, at time: IssueTimestamp? = nil, commit: String? = nil, note: String? = nil,
        user: UInt32? = nil
    ) async throws -> (deployment: IssueDeployment, isNew: Bool) {
        let parameters = DeployParameters(
            app: app, version: version, at: time, commit: commit, note: note, user: user)
        // If it were repeated, the reply would say that the deployment was known.
        let reply = try await call(CollectorCalls.deploy, parameters, usesOwnConnection: true)
        return (reply.deployment, reply.isKnown != true)
    }

    /// Removes the latest declared deployment of a version, for example because it was declared by mistake.
    ///
    /// The states of issues do not change. If records of the version have arrived and it has no other declared
    /// deployment, the version is listed as observed afterwards.
    ///
    /// If the daemon stops before it replies, see whether ``deployments(of:limit:after:)`` still has the deployment
    /// before you call this function again. Otherwise an earlier one may be removed, too.
    ///
    /// - Parameters:
    ///   - app: The name of the application.
    ///   - version: The version as it was declared.
    ///   - user: As in ``deploy(_:version:at:commit:note:user:)``.
    /// - Returns: The deployment that was removed.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such deployment was declared; `.denied` if the
    ///   caller may not remove it; `.refused` if an argument is invalid; or another code if the daemon cannot be
    ///   reached or is too old.
    @discardableResult
    public func removeDeployment(
        _ app: String, version: String, user: UInt32? = nil
    ) async throws -> IssueDeployment {
        let parameters = RemoveDeploymentParameters(app: app, version: version, user: user)
        let reply = try await call(CollectorCalls.removeDeployment, parameters, usesOwnConnection: true)
        return reply.deployment
    }

    /// Returns deployments, latest first, including observed ones, which are known only from a report.
    ///
    /// - Parameters:
    ///   - app: The name of an application. Nil returns the deployments of all applications.
    ///   - limit: The maximum number of deployments on the page. Nil means 50; the daemon returns at most 500.
    ///   - page: ``Page/next`` of the previous page. Nil returns the first page.
    /// - Returns: A page of deployments.
    /// - Throws: `IssueDeliveryError` if the daemon cannot be reached or refuses the query.
    public func deployments(
        of app: String? = nil, limit: Int? = nil, after page: String? = nil
    ) async throws -> Page<IssueDeployment> {
        let reply = try await call(
            CollectorCalls.deployments, DeploymentsParameters(app: app, limit: limit, after: page))
        return Page(elements: reply.deployments, next: reply.next)
    }
}
