internal import IssueProtocol
internal import Issues

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
    ///   - time: The time of the deployment, which is not in the future. Nil means now.
    ///   - commit: The revision of the source code. Nil if unknown.
    ///   - note: A note. Nil for none.
    ///   - user: The id of the user whose application it is. Nil for the caller or, if that is an operator, for the
    ///     applications of all users with this name.
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
        let reply: DeployReply = try await ask(.deploy, parameters.json)
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
        let reply: DeployReply = try await ask(.removeDeployment, parameters.json)
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
        let reply: DeploymentsReply = try await ask(
            .deployments, DeploymentsParameters(app: app, limit: limit, after: page).json)
        return Page(elements: reply.deployments, next: reply.next)
    }
}
