package import IssueWire

/// Selects issues or records (`Filter` on the wire). All properties that are not nil must match. A list other than
/// ``metadata`` matches if one of its elements does.
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
    /// The file IDs of source files, such as `Shop/Order.swift`, or the parts after one of their slashes, such as
    /// `Order.swift`.
    public var files: [String]?
    /// Search terms that a record must contain, in any order and case, in its message, domain, metadata values or
    /// causes. A term is a word, a part of one, or a phrase in quotation marks. A group matches if one of its stored
    /// records does. If the filter has no condition on metadata or the context, a group also matches if each term is in
    /// its title or domain.
    public var text: String?
    /// Keys and values of the metadata, `KEY=VALUE` each. Entries with the same key are alternatives; one entry of each
    /// key must match.
    public var metadata: [String]?
    /// The ids of groups.
    public var groups: [String]?
    /// The ids of the users who reported records.
    public var users: [UInt32]?
    /// The systemd units that reported records.
    public var units: [String]?
    /// The states of groups.
    public var states: [GroupState]?
    /// How a group changed with the last declared deployment of its application. Groups of an application without a
    /// declared deployment do not match. The daemon rejects this condition in queries for single records and in purges.
    public var sinceDeployment: DeploymentChange?
    /// The outcomes of records. The daemon rejects this condition in queries for issues and for counts.
    public var outcomes: [IssueFate.Outcome]?
    /// The destination that ``outcomes`` refers to. Nil for any destination. The daemon rejects a filter with a
    /// destination but without ``outcomes``.
    public var destination: String?
    /// The earliest time at which the daemon received a record.
    public var since: IssueTimestamp?
    /// The latest time at which the daemon received a record.
    public var until: IssueTimestamp?
    /// The ids of traces: 32 hexadecimal digits each.
    public var traceIDs: [String]?
    /// The ids of requests.
    public var requestIDs: [String]?
    /// The ids of the users whom the application was serving; see `IssueContext.user`. The users who run the
    /// application are ``users``.
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

    /// Whether there are no conditions other than those on applications and users, so that the filter includes
    /// everything that is stored about these.
    package var includesWholeApplications: Bool {
        var filter = IssueFilter(apps: apps)
        filter.users = users
        return self == filter
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
        for (name, _, values) in Self.contextMembers { try members.optional(name, &self[keyPath: values]) }
        // Ignoring an unknown condition would select more than the client meant.
        try members.noOthers()
    }
}

extension IssueFilter {
    /// The members with conditions on the ids of the context.
    private static let contextMembers:
        [(name: String, field: IssueContext.Field, values: any WritableKeyPath<Self, [String]?> & Sendable)] = [
            ("trace_ids", .traceID, \.traceIDs), ("request_ids", .requestID, \.requestIDs),
            ("end_users", .user, \.endUsers),
        ]

    /// The conditions on the ids of the context, with the names of the filter's members.
    package var contextConditions: [(name: String, field: IssueContext.Field, values: [String])] {
        Self.contextMembers.compactMap { name, field, values in self[keyPath: values].map { (name, field, $0) } }
    }
}

/// How a group changed with the last declared deployment of its application (`DeploymentChange` on the wire).
public enum DeploymentChange: String, CaseIterable, Sendable {
    /// The first record came after the deployment.
    case new
    /// The last record came between the last two deployments, or before the only one.
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
    /// A series for each of the 20 applications with the most records, largest first, then one for the others.
    case app
    /// A series for each of the 20 groups with the most records, largest first, then one for the others.
    case group
}

extension HistogramDimension: JSONStringEnum {}

/// The counts of one series of a histogram (`Series` on the wire).
public struct HistogramSeries: Equatable, Sendable {
    /// The key of a last series that counts the records of all other applications or groups.
    package static let rest = "*"

    /// The name of the level, the name of the application, the id of the group, or `total`. The last series may be `*`,
    /// which counts the records of all other applications or groups.
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

extension HistogramSeries: JSONObjectCodable {
    package static var initial: Self { Self(key: "", counts: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("key", &key)
        try members.defaulted("counts", &counts, [])
    }
}

/// The parameters of `List`.
package struct ListParameters: Equatable, JSONObjectCodable, Sendable {
    package var filter: IssueFilter?
    package var order: ResultOrder?
    /// The maximum number of groups in the reply; nil for the daemon's default.
    package var limit: Int?
    /// The `next` of the previous page; nil for the first page.
    package var after: String?
    /// The number of buckets of each group's sparkline; nil for none.
    package var sparkline: Int?

    package init(
        filter: IssueFilter? = nil, order: ResultOrder? = nil, limit: Int? = nil, after: String? = nil,
        sparkline: Int? = nil
    ) {
        self.filter = filter
        self.order = order
        self.limit = limit
        self.after = after
        self.sparkline = sparkline
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("filter", &filter)
        try members.optional("order", &order)
        try members.optional("limit", &limit, check: atLeastOne)
        try members.optional("after", &after)
        try members.optional("sparkline", &sparkline, check: atLeastOne)
    }
}

/// The reply of `List`: a page of groups.
package struct ListReply: Equatable, JSONObjectCodable, Sendable {
    package var groups: [IssueGroup]
    /// The value of `after` for the next page; nil if this page is the last one.
    package var next: String?

    package init(groups: [IssueGroup], next: String? = nil) {
        self.groups = groups
        self.next = next
    }

    package static var initial: Self { Self(groups: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("groups", &groups, [])
        try members.optional("next", &next)
    }
}

/// The parameters of `Records`.
package struct RecordsParameters: Equatable, JSONObjectCodable, Sendable {
    package var filter: IssueFilter?
    package var order: ResultOrder?
    /// The maximum number of records in each reply; nil for the daemon's default.
    package var limit: Int?
    /// The `next` of the previous page; nil for the first page.
    package var after: String?
    /// Whether to receive only records that arrive from now on. If so, the call must be made with `more`, and the
    /// daemon ignores `order`, `limit` and `after`. Nil means `false`.
    package var follow: Bool?

    package init(
        filter: IssueFilter? = nil, order: ResultOrder? = nil, limit: Int? = nil, after: String? = nil,
        follow: Bool? = nil
    ) {
        self.filter = filter
        self.order = order
        self.limit = limit
        self.after = after
        self.follow = follow
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("filter", &filter)
        try members.optional("order", &order)
        try members.optional("limit", &limit, check: atLeastOne)
        try members.optional("after", &after)
        try members.optional("follow", &follow)
    }
}

/// The reply of `Records`: a page of single records.
package struct RecordsReply: Equatable, JSONObjectCodable, Sendable {
    package var records: [StoredRecord]
    /// The value of `after` for the next page; nil if this page is the last one.
    package var next: String?
    /// The number of records that are left out because their blocks are damaged; nil if there are none, or if the
    /// caller may not see all records.
    package var unreadable: Int64?

    package init(records: [StoredRecord], next: String? = nil, unreadable: Int64? = nil) {
        self.records = records
        self.next = next
        self.unreadable = unreadable
    }

    package static var initial: Self { Self(records: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("records", &records, [])
        try members.optional("next", &next)
        try members.optional("unreadable", &unreadable)
    }
}

/// The parameters of `Histogram`.
package struct HistogramParameters: Equatable, JSONObjectCodable, Sendable {
    package var filter: IssueFilter?
    /// The size of a bucket: whole minutes.
    package var bucket: Duration
    /// The property by which the counts are split; nil for a single series.
    package var by: HistogramDimension?

    package init(filter: IssueFilter? = nil, bucket: Duration, by: HistogramDimension? = nil) {
        self.filter = filter
        self.bucket = bucket
        self.by = by
    }

    package static var initial: Self { Self(bucket: .zero) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("filter", &filter)
        try members.required("bucket", &bucket)
        try members.optional("by", &by)
    }
}

/// The reply of `Histogram`: the start of the first bucket, the size of a bucket, and the counts.
package struct HistogramReply: Equatable, JSONObjectCodable, Sendable {
    /// The start of the first bucket.
    package var start: IssueTimestamp
    /// The size of a bucket; nil from a daemon that does not send it yet.
    package var bucket: Duration?
    package var series: [HistogramSeries]
    /// The latest declared deployments in the time range, at most 100, earliest first.
    package var deploys: [IssueDeployment]

    package init(
        start: IssueTimestamp, bucket: Duration? = nil, series: [HistogramSeries], deploys: [IssueDeployment] = []
    ) {
        self.start = start
        self.bucket = bucket
        self.series = series
        self.deploys = deploys
    }

    package static var initial: Self { Self(start: .epoch, series: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("start", &start)
        try members.optional("bucket", &bucket)
        try members.defaulted("series", &series, [])
        try members.nonempty("deploys", &deploys)
    }
}

/// Returns the reason why a count is invalid; nil if it is valid.
private func atLeastOne(_ count: Int) -> String? {
    count < 1 ? "must be at least 1" : nil
}
