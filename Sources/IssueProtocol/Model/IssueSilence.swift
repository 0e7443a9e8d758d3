package import IssueWire

/// A period in which notifiers report no events of some issues (`Silence` on the wire).
///
/// The records are stored, counted and forwarded as usual.
package struct IssueSilence: Equatable, Sendable {
    /// The id that the daemon assigned; empty in a request.
    package var id: String
    /// Names of applications, environments and systemd units. A name may end with `*`. An empty list matches all.
    package var apps: [String]
    package var environments: [String]
    package var units: [String]
    /// Ids of groups. An empty list matches all.
    package var groups: [String]
    package var until: IssueTimestamp
    package var reason: String
    /// The user who added it; 0 in a request.
    package var uid: Int64
    /// When it was added.
    package var at: IssueTimestamp
    /// The number of events that were not reported because of it.
    package var count: Int64

    package init(
        id: String = "", apps: [String] = [], environments: [String] = [], units: [String] = [],
        groups: [String] = [], until: IssueTimestamp, reason: String, uid: Int64 = 0, at: IssueTimestamp = .epoch,
        count: Int64 = 0
    ) {
        self.id = id
        self.apps = apps
        self.environments = environments
        self.units = units
        self.groups = groups
        self.until = until
        self.reason = reason
        self.uid = uid
        self.at = at
        self.count = count
    }
}

extension IssueSilence: JSONObjectCodable {
    package static var initial: Self { Self(until: .epoch, reason: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("id", &id, "")
        try members.nonempty("apps", &apps)
        try members.nonempty("environments", &environments)
        try members.nonempty("units", &units)
        try members.nonempty("groups", &groups)
        try members.required("until", &until)
        try members.required("reason", &reason)
        try members.defaulted("uid", &uid, 0)
        try members.defaulted("at", &at, .epoch)
        try members.defaulted("count", &count, 0)
    }
}
