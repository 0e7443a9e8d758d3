package import IssueWire

/// Selects records or groups (`Filter` on the wire). All members that are present must match.
///
/// A list matches if one of its elements does. nil always matches.
package struct IssueFilter: Equatable, Sendable {
    package var apps: [String]?
    package var versions: [String]?
    package var environments: [String]?
    /// The lowest matching severity.
    package var severity: IssueLevel?
    package var domains: [String]?
    package var codes: [Int64]?
    package var files: [String]?
    /// A text that the record must contain.
    package var text: String?
    package var groups: [String]?
    package var users: [UInt32]?
    package var units: [String]?
    package var states: [GroupState]?
    package var outcomes: [IssueFate.Outcome]?
    /// The destination that `outcomes` refers to.
    package var destination: String?
    package var since: IssueTimestamp?
    package var until: IssueTimestamp?

    package init() {}
}

extension IssueFilter: JSONObjectCodable {
    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("apps", &apps)
        try members.optional("versions", &versions)
        try members.optional("environments", &environments)
        try members.optional("severity", &severity)
        try members.optional("domains", &domains)
        try members.optional("codes", &codes)
        try members.optional("files", &files)
        try members.optional("text", &text)
        try members.optional("groups", &groups)
        try members.optional("users", &users)
        try members.optional("units", &units)
        try members.optional("states", &states)
        try members.optional("fates", &outcomes)
        try members.optional("destination", &destination)
        try members.optional("since", &since)
        try members.optional("until", &until)
    }
}

/// The order of groups or records in a reply (`Order` on the wire).
package enum ResultOrder: String, CaseIterable, Sendable {
    case newest
    case oldest
    case most
    case worst
}

/// The property by which a histogram is split into series (`Dimension` on the wire).
package enum HistogramDimension: String, CaseIterable, Sendable {
    /// A single series for all records.
    case total
    case severity
    case app
    case group
}

/// The number of records in each bucket (`Series` on the wire).
package struct HistogramSeries: Equatable, Sendable {
    /// The key of the last series by application or group, which counts the records of all others.
    package static let rest = "*"

    /// The severity, application name or group id that the series counts.
    package var key: String
    /// The number of records in each bucket, in order of time.
    package var counts: [Int64]

    package init(key: String, counts: [Int64]) {
        self.key = key
        self.counts = counts
    }

    /// The number of records in all buckets.
    package var sum: Int64 { counts.reduce(0, +) }
}

extension HistogramSeries: JSONObjectCodable {
    package static var initial: Self { Self(key: "", counts: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("key", &key)
        try members.defaulted("counts", &counts, [])
    }
}
