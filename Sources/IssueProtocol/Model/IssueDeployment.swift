public import IssueWire

/// A version of an application that was put into use (`Deployment` on the wire).
public struct IssueDeployment: Equatable, Sendable {
    /// The name of the application.
    public var app: String
    /// The user of the application. Nil for the applications of all users with this name.
    public var user: UInt32?
    /// The version, with the build in parentheses if it has one: `2.0.0 (2500)`.
    public var version: String
    /// The time of the deployment. For an observed one, the time at which the first report of the version was received.
    public var deployedAt: IssueTimestamp
    /// `true` if no one declared the deployment and it is only known from a report.
    public var isObserved: Bool
    /// The revision of the source code; nil if unknown.
    public var commit: String?
    /// The note that its author gave. Nil if there is none.
    public var note: String?
    /// The id of the user who declared it; nil if it was observed, or if the viewer must not know it.
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
