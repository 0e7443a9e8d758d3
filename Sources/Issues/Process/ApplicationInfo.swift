package import IssueWire
internal import UnixIO

/// What an application says of itself with each issue.
public struct ApplicationInfo: Hashable, Sendable {
    /// Under which name its issues are grouped.
    public var name: String
    /// The version that people know, such as `2.0.0`.
    public var version: String?
    /// The number of the build.
    public var build: Int?
    /// Where it runs: production, staging or any name of its own.
    public var environment: Environment?
    /// The kind of system it runs on.
    public var platform: String?
    /// How it reaches the rest of the world.
    public var network: Network?
    /// Whether this is a developer's build.
    public var development: Bool?

    /// Describes the application; what is left out comes from the process.
    ///
    /// The name is then `ISSUED_APP` of the environment or that of the
    /// executable, the version `ISSUED_VERSION`, and the environment
    /// `ISSUED_ENVIRONMENT`.
    public init(
        name: String? = nil, version: String? = nil, build: Int? = nil, environment: Environment? = nil,
        platform: String? = "linux", network: Network? = nil, development: Bool? = nil
    ) {
        let defaults = ProcessDefaults.shared
        self.name = name ?? defaults.name
        self.version = version ?? defaults.version
        self.build = build
        self.environment = environment ?? defaults.environment.map { Environment(rawValue: $0) }
        self.platform = platform
        self.network = network
        self.development = development
    }

    package var wire: Application {
        Application(
            name: name, version: version, build: build.map { Int64($0) }, environment: environment?.rawValue,
            platform: platform, network: network?.rawValue, development: development)
    }
}

extension ApplicationInfo {
    /// Where an application runs; any text, with constants for the usual ones.
    public struct Environment: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        /// The name as it goes over the wire.
        public var rawValue: String

        /// An environment of this name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// An environment of this name.
        public init(stringLiteral value: String) { rawValue = value }

        /// Used by those the application is made for.
        public static let production: Environment = "production"
        /// The rehearsal of production.
        public static let staging: Environment = "staging"
        /// Used by those who try to break it.
        public static let qa: Environment = "qa"
        /// Used by those who build it.
        public static let development: Environment = "development"
    }

    /// How an application reaches the rest of the world; any text, with constants for the usual ones.
    public struct Network: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        /// The name as it goes over the wire.
        public var rawValue: String

        /// A network of this name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A network of this name.
        public init(stringLiteral value: String) { rawValue = value }

        /// A wireless local network.
        public static let wifi: Network = "wifi"
        /// A mobile network.
        public static let cellular: Network = "cellular"
        /// A wired network.
        public static let ethernet: Network = "ethernet"
        /// This host alone.
        public static let loopback: Network = "loopback"
        /// No network.
        public static let offline: Network = "offline"
        /// Nobody knows.
        public static let unknown: Network = "unknown"
    }
}

/// The application's facts at one time, shared by all reports of that time.
final class ApplicationSnapshot: Sendable {
    let info: ApplicationInfo

    init(_ info: ApplicationInfo) {
        self.info = info
    }
}
