package import IssueProtocol
public import Issues

extension IssueBrowser {
    /// Which issues are asked for: every part that is given must hold, a list when one of its members does.
    public struct Filter: Sendable {
        /// Of these applications.
        public var apps: [String]?
        /// Of these versions of an application.
        public var versions: [String]?
        /// From these environments.
        public var environments: [String]?
        /// This level or a worse one.
        public var level: IssueLevel?
        /// Of these error domains.
        public var domains: [String]?
        /// With these error codes.
        public var codes: [Int]?
        /// From these source files.
        public var files: [String]?
        /// With this text in it.
        public var text: String?
        /// Of these groups.
        public var groups: [String]?
        /// Reported by these users, by number.
        public var users: [UInt32]?
        /// Reported by these units of systemd.
        public var units: [String]?
        /// Of groups in these states.
        public var states: [State]?
        /// With these fates.
        public var outcomes: [IssueFate.Outcome]?
        /// The destination whose fates count.
        public var destination: String?
        /// Not older than this.
        public var since: IssueTimestamp?
        /// Not newer than this.
        public var until: IssueTimestamp?

        /// A filter by application, level and time; more is set on it afterwards.
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

        package var wire: IssueFilter {
            var filter = IssueFilter()
            filter.apps = apps
            filter.versions = versions
            filter.environments = environments
            filter.severity = level?.wire
            filter.domains = domains
            filter.codes = codes?.map { Int64($0) }
            filter.files = files
            filter.text = text
            filter.groups = groups
            filter.users = users
            filter.units = units
            filter.states = states?.map(\.wire)
            // A word that is none of ours matches nothing that this version knows.
            filter.fates = outcomes?.compactMap { Fate(name: $0.rawValue) }
            filter.destination = destination
            filter.since = since?.wire
            filter.until = until?.wire
            return filter
        }
    }
}
