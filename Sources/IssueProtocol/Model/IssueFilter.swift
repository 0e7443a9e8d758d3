package import IssueWire

/// Selects issues or records (`Filter` on the wire). All properties that are not nil must match. A list matches if one
/// of its elements does.
public struct IssueFilter: Equatable, Sendable {
    /// The names of applications.
    public var apps: [String]?
    /// The versions of applications.
    public var versions: [String]?
    /// The environments of applications.
    public var environments: [String]?
    /// The minimum level.
    public var level: IssueLevel?
    /// The error domains.
    public var domains: [String]?
    /// The error codes.
    public var codes: [Int]?
    /// The file IDs of source files, or the last components of their paths.
    public var files: [String]?
    /// Search terms that a record must contain, in any order and case, in its message, domain, metadata values or
    /// causes. A term is a word, a part of one, or a phrase in quotation marks. A group is selected by its title and
    /// domain, or by one of its records.
    public var text: String?
    /// Keys and values of the metadata, `KEY=VALUE` each. Entries with the same key are alternatives; one entry of each
    /// key must match.
    public var metadata: [String]?
    /// The ids of groups.
    public var groups: [String]?
    /// The ids of the users that reported the record.
    public var users: [UInt32]?
    /// The systemd units that reported the record.
    public var units: [String]?
    /// The states of groups.
    public var states: [GroupState]?
    /// The change of a group with the last deployment of its application. Selects groups and counts, not single
    /// records. Groups of an application without a declared deployment do not match.
    public var sinceDeployment: DeploymentChange?
    /// The outcomes of records. They select single records only, not issues or counts.
    public var outcomes: [IssueFate.Outcome]?
    /// The destination that ``outcomes`` refers to. Nil for any destination. Without ``outcomes``, the daemon
    /// rejects the filter.
    public var destination: String?
    /// The earliest time at which the daemon received a record.
    public var since: IssueTimestamp?
    /// The latest time at which the daemon received a record.
    public var until: IssueTimestamp?
    /// The ids of traces: 32 hexadecimal digits each.
    public var traceIDs: [String]?
    /// The ids of requests.
    public var requestIDs: [String]?
    /// The ids of the users that the application was serving; see `IssueContext.user`. ``users`` are those that run it.
    public var endUsers: [String]?

    /// Creates a filter. Other properties can be set afterwards.
    ///
    /// - Parameters:
    ///   - apps: The names of applications.
    ///   - level: The minimum level.
    ///   - text: The search terms that records must contain; a phrase is in quotation marks.
    ///   - groups: The ids of groups.
    ///   - since: The earliest time at which the daemon received a record.
    ///   - until: The latest time at which the daemon received a record.
    public init(
        apps: [String]? = nil, level: IssueLevel? = nil, text: String? = nil, groups: [String]? = nil,
        since: IssueTimestamp? = nil, until: IssueTimestamp? = nil
    ) {
        self.apps = apps
        self.level = level
        self.text = text
        self.groups = groups
        self.since = since
        self.until = until
    }
}

extension IssueFilter: JSONObjectCodable {
    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("apps", &apps)
        try members.optional("versions", &versions)
        try members.optional("environments", &environments)
        try members.optional("severity", &level)
        try members.optional("domains", &domains)
        try members.optional("codes", &codes)
        try members.optional("files", &files)
        try members.optional("text", &text)
        try members.optional("metadata", &metadata)
        try members.optional("groups", &groups)
        try members.optional("users", &users)
        try members.optional("units", &units)
        try members.optional("states", &states)
        try members.optional("since_deploy", &sinceDeployment)
        try members.optional("fates", &outcomes)
        try members.optional("destination", &destination)
        try members.optional("since", &since)
        try members.optional("until", &until)
        try members.optional("trace_ids", &traceIDs)
        try members.optional("request_ids", &requestIDs)
        try members.optional("end_users", &endUsers)
    }
}

extension IssueFilter {
    /// The conditions on the ids of the context, with the names of the filter's members.
    package var contextConditions: [(name: String, field: IssueContext.Field, values: [String])] {
        let all: [(String, IssueContext.Field, [String]?)] = [
            ("trace_ids", .traceID, traceIDs), ("request_ids", .requestID, requestIDs), ("end_users", .user, endUsers),
        ]
        return all.compactMap { name, field, values in values.map { (name, field, $0) } }
    }
}

/// The change of a group with the last declared deployment of its application (`DeploymentChange` on the wire).
public enum DeploymentChange: String, CaseIterable, Sendable {
    /// The first record came after the deployment.
    case new
    /// The last record came between the deployment before and the last one.
    case gone
}

extension DeploymentChange: JSONStringEnum {}

/// The order of a result (`Order` on the wire).
public enum ResultOrder: String, CaseIterable, Sendable {
    /// The most recent activity first.
    case newest
    /// The oldest activity first.
    case oldest
    /// The most frequent first. For groups only.
    case most
    /// The most severe first. For groups only.
    case worst
}

extension ResultOrder: JSONStringEnum {}

/// The property that the series of a histogram are split by (`Dimension` on the wire).
public enum HistogramDimension: String, CaseIterable, Sendable {
    /// One series for all records.
    case total
    /// A series for each level, the most severe first.
    case level = "severity"
    /// A series for each application, the largest first.
    case app
    /// A series for each group, the largest first.
    case group
}

extension HistogramDimension: JSONStringEnum {}

/// The counts for one level, application or group (`Series` on the wire).
public struct HistogramSeries: Equatable, Sendable {
    /// The key of the last series by application or group, which counts the records of all others.
    package static let rest = "*"

    /// The name of the level, the name of the application or the id of the group. The last series may be `*`, with the
    /// sum of all that have no series of their own.
    public var key: String
    /// The number of records in each bucket, in order of time.
    public var counts: [Int]

    package init(key: String, counts: [Int]) {
        self.key = key
        self.counts = counts
    }

    /// The number of records in all buckets.
    package var sum: Int { counts.reduce(0) { $0.clampedSum($1) } }
}

extension Int {
    /// Returns the sum, clamped to the range of `Int`. An untrusted server may send any number.
    package func clampedSum(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        guard overflow else { return sum }
        return other < 0 ? .min : .max
    }
}

extension HistogramSeries: JSONObjectCodable {
    package static var initial: Self { Self(key: "", counts: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("key", &key)
        try members.defaulted("counts", &counts, [])
    }
}
