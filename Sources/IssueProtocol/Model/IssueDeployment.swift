public import IssueWire

/// A version of an application that was put into use (`Deployment` on the wire).
public struct IssueDeployment: Equatable, Sendable {
    /// The maximum size of a version and of a commit, in bytes.
    package static let maxVersionBytes = 128

    /// The name of the application.
    public var app: String
    /// The user of the application. Nil means every user's application with this name.
    public var user: UInt32?
    /// The version, with the build in parentheses if it has one: `2.0.0 (2500)`.
    public var version: String
    /// The time of the deployment. For an observed one, the time at which the first report from the version was
    /// received.
    public var deployedAt: IssueTimestamp
    /// Whether the deployment is known only from a report, because no one declared it.
    public var isObserved: Bool
    /// The revision of the source code; nil if unknown, or if the caller may not see it.
    public var commit: String?
    /// The author's note; nil if there is none, or if the caller may not see it.
    public var note: String?
    /// The id of the user who declared the deployment; nil if it was observed, or if the caller may not see the id.
    public var author: UInt32?

    package init(
        app: String, user: UInt32?, version: String, deployedAt: IssueTimestamp, isObserved: Bool = false,
        commit: String? = nil, note: String? = nil, author: UInt32? = nil
    ) {
        self.app = app
        self.user = user
        self.version = version
        self.deployedAt = deployedAt
        self.isObserved = isObserved
        self.commit = commit
        self.note = note
        self.author = author
    }
}

extension IssueDeployment: JSONObjectCodable {
    package static var initial: Self { Self(app: "", user: nil, version: "", deployedAt: .epoch) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("app", &app)
        try members.optional("uid", &user)
        try members.required("version", &version)
        try members.required("at", &deployedAt)
        try members.required("observed", &isObserved)
        try members.optional("commit", &commit)
        try members.optional("note", &note)
        try members.optional("by", &author)
    }
}

/// The parameters of `Deploy`.
package struct DeployParameters: Equatable, JSONObjectCodable, Sendable {
    /// The name of the application.
    package var app: String
    package var version: String
    /// The time of the deployment; nil means the current time.
    package var at: IssueTimestamp?
    /// The revision of the source code.
    package var commit: String?
    package var note: String?
    /// The user of the application. Nil means the caller's own application or, if the caller is an operator, every
    /// user's application with this name.
    package var user: UInt32?

    package init(
        app: String, version: String, at: IssueTimestamp? = nil, commit: String? = nil, note: String? = nil,
        user: UInt32? = nil
    ) {
        self.app = app
        self.version = version
        self.at = at
        self.commit = commit
        self.note = note
        self.user = user
    }

    package static var initial: Self { Self(app: "", version: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("app", &app)
        try members.required("version", &version)
        try members.optional("at", &at)
        try members.optional("commit", &commit)
        try members.optional("note", &note)
        try members.optional("user", &user)
    }
}

/// The reply of `Deploy` and `RemoveDeployment`.
package struct DeployReply: Equatable, JSONObjectCodable, Sendable {
    /// For `Deploy`, the new deployment or, if `isKnown` is true, the earlier one; for `RemoveDeployment`, the removed
    /// one.
    package var deployment: IssueDeployment
    /// Whether nothing was stored, because the preceding declared deployment has the same version. Nil means `false`.
    package var isKnown: Bool?

    package init(deployment: IssueDeployment, isKnown: Bool? = nil) {
        self.deployment = deployment
        self.isKnown = isKnown
    }

    package static var initial: Self { Self(deployment: .initial) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("deployment", &deployment)
        try members.optional("known", &isKnown)
    }
}

/// The parameters of `RemoveDeployment`. Its reply is `DeployReply`.
package struct RemoveDeploymentParameters: Equatable, JSONObjectCodable, Sendable {
    package var app: String
    package var version: String
    /// As in `DeployParameters`.
    package var user: UInt32?

    package init(app: String, version: String, user: UInt32? = nil) {
        self.app = app
        self.version = version
        self.user = user
    }

    package static var initial: Self { Self(app: "", version: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("app", &app)
        try members.required("version", &version)
        try members.optional("user", &user)
    }
}

/// The parameters of `Deployments`.
package struct DeploymentsParameters: Equatable, JSONObjectCodable, Sendable {
    /// The name of the application; nil for all applications.
    package var app: String?
    /// The maximum number of deployments in the reply; nil for the daemon's default.
    package var limit: Int?
    /// The `next` of the previous page; nil for the first page.
    package var after: String?

    package init(app: String? = nil, limit: Int? = nil, after: String? = nil) {
        self.app = app
        self.limit = limit
        self.after = after
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("app", &app)
        try members.optional("limit", &limit)
        try members.optional("after", &after)
    }
}

/// The reply of `Deployments`: a page of deployments, latest first.
package struct DeploymentsReply: Equatable, JSONObjectCodable, Sendable {
    package var deployments: [IssueDeployment]
    /// The cursor of the next page; nil if this is the last one.
    package var next: String?

    package init(deployments: [IssueDeployment], next: String? = nil) {
        self.deployments = deployments
        self.next = next
    }

    package static var initial: Self { Self(deployments: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("deployments", &deployments, [])
        try members.optional("next", &next)
    }
}
