package import IssueWire
internal import Synchronization
internal import UnixIO

/// The settings for reports, which are read once from the environment of the process.
package struct ProcessSettings: Sendable {
    /// The initial reporters of the process. In tests, always the default reporter: an environment variable must not
    /// make failing tests pass, or send their reports elsewhere.
    package var reporters: [any IssueReporter] = [.default]
    /// The minimum level of the issues that `.default` writes to standard error outside tests, and of those that are
    /// sent to the daemon without a receipt.
    package var level: IssueLevel = .debug
    package var backtrace = BacktraceChoice.error
    /// Messages about invalid settings, one line each.
    package var warnings: [String] = []

    static let shared: ProcessSettings = {
        let settings = ProcessSettings(isTesting: TestRun.isActive) { ProcessEnvironment[$0] }
        // Written once per process.
        for warning in settings.warnings { StandardErrorLine.write(warning) }
        return settings
    }()

    /// Reads the settings.
    ///
    /// - Parameters:
    ///   - isTesting: `true` if this process runs tests. `ISSUED_REPORTERS` is ignored then.
    ///   - variable: Returns the value of an environment variable; nil if it is not set.
    package init(isTesting: Bool = false, variable: (String) -> String?) {
        func read<Value: RawRepresentable<String> & CaseIterable>(_ name: String) -> Value? {
            guard let text = variable(name).nonEmpty else { return nil }
            let value = Value(rawValue: text)
            if value == nil { addWarning(name, text, Value.allCases.map(\.rawValue), "The value is ignored.") }
            return value
        }
        level = read("ISSUED_LEVEL") ?? level
        backtrace = read("ISSUED_BACKTRACE") ?? backtrace
        if !isTesting, let text = variable("ISSUED_REPORTERS").nonEmpty { readReporters(text) }
    }

    private static let namedReporters: [(name: String, reporters: [any IssueReporter])] = [
        ("default", [.default]), ("daemon", [.daemon]), ("breakpoint", [.breakpoint]), ("fatalError", [.fatalError]),
        ("none", []),
    ]

    private mutating func readReporters(_ text: String) {
        var read: [any IssueReporter] = []
        for name in text.split(separator: ",").map({ $0.filter { $0 != " " } }) {
            guard let named = Self.namedReporters.first(where: { $0.name == name }) else {
                // An invalid list keeps the default reporters instead of disabling reporting.
                return addWarning(
                    "ISSUED_REPORTERS", name, Self.namedReporters.map(\.name), "The whole list is ignored.")
            }
            read += named.reporters
        }
        reporters = read
    }

    private mutating func addWarning(_ variable: String, _ text: String, _ values: [String], _ consequence: String) {
        let expected = values.joined(separator: ", ")
        warnings.append("\(variable): invalid value '\(text)'; expected one of: \(expected). \(consequence)")
    }
}

/// Which reports include a backtrace: none, those of level `error` or higher, or all.
package enum BacktraceChoice: String, CaseIterable, Sendable {
    case none
    case error
    case all

    /// The maximum number of frames in a report. A frame takes about a hundred bytes.
    static let limit = 16

    func isWanted(for level: IssueLevel) -> Bool {
        switch self {
        case .none: false
        case .error: level >= .error
        case .all: true
        }
    }

    /// Returns up to ``limit`` return addresses of this thread's calls above a mark, innermost first; none if reports
    /// of this level include no backtrace.
    static func addresses(for level: IssueLevel, above mark: CallStack.Mark) -> [UInt] {
        guard ProcessSettings.shared.backtrace.isWanted(for: level) else { return [] }
        return CallStack.returnAddresses(above: mark, atMost: limit)
    }
}

/// The default application properties of the process, read once.
struct ProcessDefaults: Sendable {
    var name: String
    var version: String?
    var environment: String?

    static let shared = ProcessDefaults()

    private init() {
        let path = CurrentProcess.executable ?? "unknown"
        name = ProcessEnvironment["ISSUED_APP"].nonEmpty ?? path.split(separator: "/").last.map(String.init) ?? path
        version = ProcessEnvironment["ISSUED_VERSION"].nonEmpty
        environment = ProcessEnvironment["ISSUED_ENVIRONMENT"].nonEmpty
    }
}

extension String? {
    /// The text; nil if it is empty.
    fileprivate var nonEmpty: String? { flatMap { $0.isEmpty ? nil : $0 } }
}

/// The properties of an application. Each of its issues includes them.
public struct IssueApplication: Hashable, Sendable {
    /// The name under which issues are grouped.
    public var name: String
    /// The version that users see, for example `2.0.0`. Nil if unknown.
    public var version: String?
    /// The build number. Nil if there is none.
    public var build: Int?
    /// The environment in which the application runs, for example production. Nil if unknown.
    public var environment: Environment?
    /// The platform, for example `linux`. Nil if unknown.
    public var platform: String?
    /// The kind of network connection. Nil if unknown.
    public var network: Network?
    /// Whether this is a development build. Nil if unknown.
    public var development: Bool?

    /// Creates the description of an application.
    ///
    /// - Parameters:
    ///   - name: The name. Nil uses the variable `ISSUED_APP` or, if it is not set, the name of the executable.
    ///   - version: The version. Nil uses the variable `ISSUED_VERSION`.
    ///   - build: The build number. Nil for none.
    ///   - environment: The environment. Nil uses the variable `ISSUED_ENVIRONMENT`.
    ///   - platform: The platform. Nil for none.
    ///   - network: The kind of network connection. Nil if unknown.
    ///   - development: `true` for a development build. Nil if unknown.
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

extension IssueApplication {
    /// The environment in which an application runs. Any text is valid; there are constants for common values.
    public struct Environment: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        /// The name on the wire.
        public var rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }

        /// The environment of real users.
        public static let production: Environment = "production"
        /// An environment that resembles production.
        public static let staging: Environment = "staging"
        /// The environment of testers.
        public static let qa: Environment = "qa"
        /// The environment of developers.
        public static let development: Environment = "development"
    }

    /// The kind of network connection of an application. Any text is valid; there are constants for common values.
    public struct Network: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        /// The name on the wire.
        public var rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }

        /// A wireless local network.
        public static let wifi: Network = "wifi"
        /// A mobile network.
        public static let cellular: Network = "cellular"
        /// A wired network.
        public static let ethernet: Network = "ethernet"
        /// The loopback interface only.
        public static let loopback: Network = "loopback"
        /// No network.
        public static let offline: Network = "offline"
        /// An unknown kind of network.
        public static let unknown: Network = "unknown"
    }
}

/// The application's properties, shared by all reports until ``IssueReporters/application`` is set again.
final class ApplicationSnapshot: Sendable {
    let info: IssueApplication

    init(_ info: IssueApplication) {
        self.info = info
    }
}

extension IssueReporters {
    private static let applicationBox = Mutex<ApplicationSnapshot?>(nil)
    private static let defaultApplication = ApplicationSnapshot(IssueApplication())

    /// The properties of the application. Each issue includes them.
    public static var application: IssueApplication {
        get { applicationSnapshot.info }
        set {
            let snapshot = ApplicationSnapshot(newValue)
            applicationBox.withLock { $0 = snapshot }
        }
    }

    static var applicationSnapshot: ApplicationSnapshot {
        applicationBox.withLock { $0 } ?? defaultApplication
    }
}
