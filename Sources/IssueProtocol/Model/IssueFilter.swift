package import IssueWire

/// Selects records or groups (`Filter` on the wire). All members that are present must match.
///
/// A list matches if one of its elements does. nil always matches.
package struct IssueFilter: Equatable, Sendable {
    package var apps: [String]?
    package var versions: [String]?
    package var environments: [String]?
    /// The lowest matching severity.
    package var severity: Severity?
    package var domains: [String]?
    package var codes: [Int64]?
    package var files: [String]?
    /// A text that the record must contain.
    package var text: String?
    package var groups: [String]?
    package var users: [UInt32]?
    package var units: [String]?
    package var states: [GroupState]?
    package var fates: [Fate]?
    /// The destination that `fates` refers to.
    package var destination: String?
    package var since: Timestamp?
    package var until: Timestamp?

    package init() {}
}

extension IssueFilter: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "apps": try scanner.read(&apps, key)
            case "versions": try scanner.read(&versions, key)
            case "environments": try scanner.read(&environments, key)
            case "severity": try scanner.read(&severity, key)
            case "domains": try scanner.read(&domains, key)
            case "codes": try scanner.read(&codes, key)
            case "files": try scanner.read(&files, key)
            case "text": try scanner.read(&text, key)
            case "groups": try scanner.read(&groups, key)
            case "users": try scanner.read(&users, key)
            case "units": try scanner.read(&units, key)
            case "states": try scanner.read(&states, key)
            case "fates": try scanner.read(&fates, key)
            case "destination": try scanner.read(&destination, key)
            case "since": try scanner.read(&since, key)
            case "until": try scanner.read(&until, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("apps", ifPresent: apps)
        writer.member("versions", ifPresent: versions)
        writer.member("environments", ifPresent: environments)
        writer.member("severity", ifPresent: severity)
        writer.member("domains", ifPresent: domains)
        writer.member("codes", ifPresent: codes)
        writer.member("files", ifPresent: files)
        writer.member("text", ifPresent: text)
        writer.member("groups", ifPresent: groups)
        writer.member("users", ifPresent: users)
        writer.member("units", ifPresent: units)
        writer.member("states", ifPresent: states)
        writer.member("fates", ifPresent: fates)
        writer.member("destination", ifPresent: destination)
        writer.member("since", ifPresent: since)
        writer.member("until", ifPresent: until)
        writer.closeObject()
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

extension HistogramSeries: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var key: String?
        var counts: [Int64] = []
        try scanner.openFields()
        while let field = try scanner.nextField() {
            switch field {
            case "key": try scanner.read(&key, field)
            case "counts": try scanner.read(&counts, field)
            default: try scanner.skipField(field)
            }
        }
        self.init(key: try key.required("key"), counts: counts)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("key", key)
        writer.member("counts", counts)
        writer.closeObject()
    }
}
