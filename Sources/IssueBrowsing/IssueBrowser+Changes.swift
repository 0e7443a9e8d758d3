internal import IssueProtocol
internal import Issues

/// Users can change the state of their own issues, and operators that of all issues.
extension IssueBrowser {
    /// Marks an issue as resolved. The next record reopens it, and operators are notified.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - isUntilNewerVersion: Whether only a record from a version that is newer than all versions so far reopens the
    ///     issue.
    ///   - note: A note for those who look at the issue, of at most 1024 bytes. Nil for none, or to keep the note of
    ///     an issue that is already resolved; an empty note removes it.
    /// - Returns: The group after the change.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such group exists or the caller may not see it,
    ///   `.denied` if the caller may not change it, or another code if the daemon cannot be reached.
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
    /// A version has the fix if it is the given one or was deployed later. If no deployments were declared, the numbers
    /// of the versions are compared.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - version: The version with the fix, as the application reports it. Nil for the next one that is declared as
    ///     deployed; until then, no record reopens the issue.
    ///   - note: A note for those who look at the issue, of at most 1024 bytes. Nil for none, or to keep the note of
    ///     an issue that is already resolved; an empty note removes it.
    /// - Returns: The group after the change.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such group exists or the caller may not see it,
    ///   `.denied` if the caller may not change it, or another code if the daemon cannot be reached.
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
    ///   - end: The time at which muting ends. Nil mutes it until it is reopened.
    ///   - isUntilNewerVersion: Whether muting ends with a record from a version that is newer than all versions so
    ///     far.
    ///   - count: The number of further occurrences after which muting ends. Nil if their number does not end it.
    ///   - note: A note for those who look at the issue, of at most 1024 bytes. Nil for none, or to keep the note of
    ///     an issue that is already muted; an empty note removes it.
    /// - Returns: The group after the change.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such group exists or the caller may not see it,
    ///   `.denied` if the caller may not change it, or another code if the daemon cannot be reached.
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
    ///   - note: A note for those who look at the issue, of at most 1024 bytes. Nil if there is none.
    /// - Returns: The group after the change.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such group exists or the caller may not see it,
    ///   `.denied` if the caller may not change it, or another code if the daemon cannot be reached.
    @discardableResult
    public func reopen(_ group: String, note: String? = nil) async throws -> IssueGroup {
        try await setState(SetStateParameters(group: group, state: .open, note: note))
    }

    private func setState(_ parameters: SetStateParameters) async throws -> IssueGroup {
        let reply = try await ask(CollectorCalls.setState, parameters)
        return reply.group
    }
}

extension IssueBrowser {
    /// Starts to forward all pending records now, and waits until each of them has a fate.
    ///
    /// Only operators may call this.
    ///
    /// - Parameters:
    ///   - destination: The name of a destination. Nil forwards to all destinations.
    ///   - timeout: The maximum time to wait. After it, the function returns the current status.
    /// - Returns: The status of the destinations.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller is not an operator, `.notFound` if no such
    ///   destination exists, or another code if the daemon cannot be reached.
    @discardableResult
    public func flush(destination: String? = nil, timeout: Duration = .seconds(30)) async throws -> [DestinationStatus]
    {
        let parameters = FlushParameters(destination: destination, timeout: timeout)
        let reply = try await ask(
            CollectorCalls.flush, parameters, timeout: parameters.replyTimeout, isLong: true
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
    ///   - records: The ids of records. Nil selects the dead letters of all records.
    /// - Returns: `requeued` is the number of dead letters that are pending again. `left` is the number of those that
    ///   cannot be requeued, because their record cannot be read or their destination is no
    ///   longer configured.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller is not an operator, or another code if the
    ///   daemon cannot be reached.
    @discardableResult
    public func requeue(
        destination: String? = nil, records: [String]? = nil
    ) async throws -> (requeued: Int, left: Int) {
        let parameters = RequeueParameters(destination: destination, records: records)
        let reply = try await order(CollectorCalls.requeue, parameters)
        return (Int(clamping: reply.count), Int(clamping: reply.left))
    }

    /// Permanently erases records.
    ///
    /// Only operators may call this.
    ///
    /// - Parameters:
    ///   - filter: Selects the records. The daemon refuses an empty filter.
    ///   - isDryRun: Whether to count the records without erasing them.
    /// - Returns: `count` is the number of records. `unreachable` lists the places that may still contain some of them.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller is not an operator, or another code if the
    ///   daemon refuses the filter or cannot be reached.
    public func purge(
        _ filter: IssueFilter, dryRun isDryRun: Bool = false
    ) async throws -> (count: Int, unreachable: [String]) {
        let parameters = PurgeParameters(filter: filter, isDryRun: isDryRun ? true : nil)
        let reply = try await order(CollectorCalls.purge, parameters)
        return (Int(clamping: reply.count), reply.unreachable)
    }

    /// Lets the daemon copy its whole store while it is running.
    ///
    /// Only operators may call this.
    ///
    /// - Returns: The path of the copy on the daemon's host, in the daemon's state directory.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller is not an operator, or another code if the
    ///   copy fails or the daemon cannot be reached.
    public func backup() async throws -> String {
        let reply = try await order(CollectorCalls.backup, BackupParameters())
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
    ///   - file: The name of a file. Nil selects all files.
    ///   - isDryRun: Whether to list the files without reading them.
    /// - Returns: `recovered` and `unreadable` are numbers of records. `files` are the names of the files. `hopeless`
    ///   are the files that contain nothing readable; they are left unchanged.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller is not an operator, or another code if the
    ///   daemon cannot be reached.
    public func repair(
        _ file: String? = nil, dryRun isDryRun: Bool = false
    ) async throws -> (recovered: Int, unreadable: Int, files: [String], hopeless: [String]) {
        let parameters = RepairParameters(file: file, isDryRun: isDryRun ? true : nil)
        let reply = try await order(CollectorCalls.repair, parameters)
        return (Int(clamping: reply.recovered), Int(clamping: reply.unreadable), reply.files, reply.hopeless)
    }
}

/// Users can declare deployments of their own applications, and operators those of all applications.
extension IssueBrowser {
    /// Declares that a version of an application was deployed.
    ///
    /// The order of deployments is the order of versions. A version that is in use already is not stored again, so a
    /// program can call this at every start.
    ///
    /// - Parameters:
    ///   - app: The name of the application.
    ///   - version: The version as the application reports it, with the build in parentheses if it has one.
    ///   - time: The time of the deployment, which must not be in the future. Nil means now.
    ///   - commit: The revision of the source code. Nil if unknown.
    ///   - note: A note. Nil for none.
    ///   - user: The id of the user whose application it is. Nil means the caller or, if the caller is an operator, all
    ///     users that have an application of this name.
    /// - Returns: `deployment` is the deployment. `isNew` is `false` if the version was in use already.
    /// - Throws: `IssueDeliveryError` with the code `.denied` if the caller may not declare it, `.refused` if an
    ///   argument is invalid, or another code if the daemon cannot be reached.
    @discardableResult
    public func deploy(
        _ app: String, version: String, at time: IssueTimestamp? = nil, commit: String? = nil, note: String? = nil,
        user: UInt32? = nil
    ) async throws -> (deployment: IssueDeployment, isNew: Bool) {
        let parameters = DeployParameters(
            app: app, version: version, at: time, commit: commit, note: note, user: user)
        let reply = try await ask(CollectorCalls.deploy, parameters)
        return (reply.deployment, reply.isKnown != true)
    }

    /// Removes a deployment that was declared by mistake: the latest one of this version.
    ///
    /// The states of issues do not change. If the version has reported, it is listed as observed afterwards.
    ///
    /// - Parameters:
    ///   - app: The name of the application.
    ///   - version: The version as it was declared.
    ///   - user: As in ``deploy(_:version:at:commit:note:user:)``.
    /// - Returns: The deployment that was removed.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such deployment was declared, `.denied` if the
    ///   caller may not remove it, or another code if the daemon cannot be reached or is too old.
    @discardableResult
    public func removeDeployment(
        _ app: String, version: String, user: UInt32? = nil
    ) async throws -> IssueDeployment {
        let parameters = RemoveDeploymentParameters(app: app, version: version, user: user)
        let reply = try await ask(CollectorCalls.removeDeployment, parameters)
        return reply.deployment
    }

    /// Returns deployments, latest first, including those that are known only from a report.
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
        let reply = try await ask(
            CollectorCalls.deployments, DeploymentsParameters(app: app, limit: limit, after: page))
        return Page(elements: reply.deployments, next: reply.next)
    }
}
