import Destinations
import IssueCore

/// The keys of each section, in the order of the manual. This is the only list
/// of keys: parsing, error messages, `--print-config` and the tests of the
/// manual all use it.
enum ConfigurationTable {
    static let socket: [ConfigurationKey<SocketSettings>] = [
        .init(
            "Path", \.path, .socketPath, default: "/run/issued/issued.sock", "The socket that applications report to."),
        .init("Mode", \.mode, .mode, default: "0666", "The permissions of the socket."),
        .init(
            "MaxConnections", \.maxConnections, .count(1...1_000_000), default: "4096",
            "The maximum number of connections of all users."),
        .init(
            "MaxConnectionsPerUser", \.maxConnectionsPerUser, .count(1...1_000_000), default: "1024",
            "The maximum number of connections of one user."),
        .init(
            "MaxMessageSize", \.maxMessageSize, .size(4096...64 << 20), default: "1M", "The maximum size of a call."),
        .init(
            "MaxRecordSize", \.maxRecordSize, .size(1024...16 << 20), default: "256K", "The maximum size of a record."),
        .init("MaxDepth", \.maxDepth, .count(4...256), default: "32", "The maximum nesting depth of a record's JSON."),
        .init("MaxKeys", \.maxKeys, .count(16...65_536), default: "256", "The maximum number of keys in a record."),
        .init(
            "MaxBytesInFlightPerUser", \.maxBytesInFlightPerUser, .size(4096...1 << 30), default: "8M",
            "The maximum size of one user's unanswered reports."),
        .init(
            "MaxMemory", \.maxMemory, .size(16 << 20...1 << 40), default: "256M",
            "The maximum memory for messages of all senders and the replies to them."),
        .init(
            "ReadTimeout", \.readTimeout, .duration(.milliseconds(100)...(.seconds(3600))), default: "30s",
            "When to close a connection that has sent part of a call."),
    ]

    static let store: [ConfigurationKey<StoreSettings>] = [
        .init("Path", \.path, .path, default: "/var/lib/issued/issues.db", "The database, on a local disk."),
        .init("MaxSize", \.maxSize, .size(1 << 20...1 << 50), default: "1G", "The maximum size of the database."),
        .init(
            "MaxAge", \.maxAge, .duration(.seconds(1)...(.seconds(36_525 * 86_400))), default: "30d",
            "The maximum age of a record."),
        .init(
            "KeepFree", \.keepFree, .size(0...1 << 50), default: "256M", "The free space to leave on the file system."),
    ]

    static let access: [ConfigurationKey<AccessSettings>] = [
        .init(list: "Readers", \.readers, .groups, default: "", "Groups whose members see the records of all users."),
        .init(
            list: "Operators", \.operators, .groups, default: "",
            "Groups whose members may also set states, flush, requeue, back up, repair and purge."),
        .init(
            "ContainerUsers", \.containerUsers, .boolean, default: "yes",
            "Whether the user ids 524288 to 1879048191 belong to containers, not to people."),
    ]

    static let forward: [ConfigurationKey<ForwardSettings>] = [
        .init(
            "BatchRecords", \.batchRecords, .count(1...100_000), default: "500",
            "The number of records at which a batch is sent."),
        .init(
            "BatchBytes", \.batchBytes, .size(16 << 10...10 << 20), default: "1M",
            "The size at which a batch is sent."),
        .init(
            "BatchDelay", \.batchDelay, .duration(.zero...(.seconds(3600))), default: "5s",
            "The age of its oldest record at which a batch is sent."),
        .init(
            "CriticalDelay", \.criticalDelay, .duration(.zero...(.seconds(3600))), default: "1s",
            "The same for critical records, new issues and regressions."),
        .init("SendRate", \.sendRate, .rate, default: "600/min", "The maximum rate of records sent."),
        .init(
            "ConnectTimeout", \.connectTimeout, .duration(.milliseconds(100)...(.seconds(600))), default: "10s",
            "The timeout for connecting."),
        .init(
            "RequestTimeout", \.requestTimeout, .duration(.milliseconds(100)...(.seconds(3600))), default: "30s",
            "The timeout for a request."),
        .init(
            "RetryFor", \.retryFor, .duration(.seconds(1)...(.seconds(366 * 86_400))), default: "7d",
            "How long a batch is retried before it becomes dead letters."),
        .init(
            "BacklogShare", \.backlogShare, .share(1...100), default: "80%",
            "The share of SendRate= that a backlog may use."),
        .init(
            "DailyBytes", \.dailyBytes, .size(1 << 20...1 << 50, zero: "no limit"), default: "500M",
            "The maximum number of bytes per day, before compression."),
        .init("Compression", \.compression, .boolean, default: "yes", "Whether to compress batches."),
    ]

    static let log: [ConfigurationKey<LogSettings>] = [
        .init("Level", \.level, .choice(), default: "notice", "The lowest level that is logged."),
        .init("Target", \.target, .choice(), default: "auto", "Where log messages go."),
    ]
}

extension ConfigurationTable {
    /// The limits of what is forwarded. Each destination can override them.
    static let admission: [ConfigurationKey<LimitSettings>] = [
        .init("GroupBurst", \.groupBurst, burst, default: "5", "The burst of records of one issue."),
        .init("GroupRefill", \.groupRefill, .rate, default: "1/5min", "The rate at which GroupBurst= refills."),
        .init(
            "ApplicationBurst", \.applicationBurst, burst, default: "100", "The burst of records of one application."),
        .init(
            "ApplicationRefill", \.applicationRefill, .rate, default: "60/min",
            "The rate at which ApplicationBurst= refills."),
        .init(
            "GlobalBurst", \.globalBurst, burst, default: "300",
            "The burst of records of this host, shared by its users."
        ),
        .init("GlobalRefill", \.globalRefill, .rate, default: "300/min", "The rate at which GlobalBurst= refills."),
    ]

    /// The limits that apply when a record is received, before any destination.
    static let guards: [ConfigurationKey<LimitSettings>] = [
        .init(
            "NewGroupsPerApplication", \.newGroupsPerApplication, .rate, default: "100/15min",
            "The rate of new issues; more go to an overflow group."),
        .init(
            "NewSeriesPerApplication", \.newSeriesPerApplication, .rate, default: "1000/15min",
            "The rate of new series."),
        .init(
            "ApplicationsPerUser", \.applicationsPerUser, .count(1...1_000_000, zero: "no limit"), default: "50",
            "The maximum number of application names of one user."),
    ]

    /// The reserves of the send rate, and when summaries are sent.
    static let reserves: [ConfigurationKey<LimitSettings>] = [
        .init(
            "CriticalReserve", \.criticalReserve, .share(0...99), default: "20%",
            "The share reserved for critical records."),
        .init("SummaryReserve", \.summaryReserve, .share(0...99), default: "10%", "The share reserved for summaries."),
        .init(
            "NoveltyReserve", \.noveltyReserve, .share(0...99), default: "20%",
            "The share reserved for new issues."),
        .init(
            "SummaryInterval", \.summaryInterval, .duration(.seconds(1)...(.seconds(86_400))), default: "60s",
            "The time until the first summary."),
        .init(
            "SummaryIntervalMax", \.summaryIntervalMax, .duration(.seconds(1)...(.seconds(86_400))),
            default: "15min", "The maximum time between two summaries."),
    ]

    static let limits = admission + guards + reserves

    /// The keys of `[Limits NAME]`. An empty value means that the general limit
    /// applies.
    static let application: [ConfigurationKey<ApplicationLimitOverride>] = [
        .init(optional: "User", \.uid, .user, default: "", "The user who runs the application."),
        .init(optional: "GroupBurst", \.groupBurst, burst, default: "", "The burst of records of one issue."),
        .init(optional: "GroupRefill", \.groupRefill, .rate, default: "", "The rate at which GroupBurst= refills."),
        .init(optional: "ApplicationBurst", \.applicationBurst, burst, default: "", "The burst of its records."),
        .init(
            optional: "ApplicationRefill", \.applicationRefill, .rate, default: "", "The rate at which that refills."),
    ]

    private static let burst: ValueForm<Int64> = .count(1...1_000_000_000, zero: "no limit")
}

extension ConfigurationTable {
    static let logzIO: [ConfigurationKey<LogzIOSettings>] = [
        .init(optional: "Region", \.region, .choice(), default: "", "The region of the account."),
        .init(optional: "URL", \.url, .listener, default: "", "The URL of a listener, instead of Region=."),
        .init(
            optional: "Connection", \.connection, .choice(), default: "secure",
            "HTTPS, HTTP, or a TLS stream without replies."),
        .init(
            "Credential", \.credential, .credential, default: "logzio-token",
            "The credential or file that holds the shipping token."),
        .init(
            "Type", \.type, .name("a type of at most 64 letters, digits, “_”, “-” and “.”"), default: "issued",
            "The type field of the records."),
        .init(
            optional: "MetadataKey", \.metadataKey, .metadataKey, default: "", "The key under which metadata is sent."),
        .init(optional: "CAFile", \.caFile, .path, default: "", "The certificates to trust instead of the system's."),
        .init(optional: "Proxy", \.proxy, .proxy, default: "", "The proxy to use."),
        .init("Backlog", \.backlog, .choice(), default: "new", "Whether to forward records from before it was added."),
    ]

    /// The general limits that a destination can override.
    static let ownLimits = (admission + reserves).map { $0.lifted(\LogzIOSettings.limits) }
    static let ownForwarding = forward.map { $0.lifted(\LogzIOSettings.forward) }

    static let destination = logzIO + ownLimits + ownForwarding
}

extension ConfigurationTable {
    /// The keys that all kinds of self-hosted destination have.
    private static let selfHosted: [ConfigurationKey<SelfHostedSettings>] = [
        .init(optional: "URL", \.url, .listener, default: "", "The URL of the server."),
        .init(
            optional: "Credential", \.credential, .credential, default: "",
            "The credential or file that holds the password or key."),
        .init(optional: "CAFile", \.caFile, .path, default: "", "The certificates to trust instead of the system's."),
        .init(optional: "Proxy", \.proxy, .proxy, default: "", "The proxy to use."),
        .init("Backlog", \.backlog, .choice(), default: "new", "Whether to forward records from before it was added."),
    ]

    /// Returns the common keys and those of one kind of self-hosted
    /// destination, without limits and forwarding.
    static func selfHosted(_ kind: SelfHostedKind) -> [ConfigurationKey<SelfHostedSettings>] {
        let name = ValueForm<String>.name("a name of at most 64 letters, digits, “_”, “-” and “.”")
        return selfHosted
            + kind.format.options.map {
                .init(
                    optional: $0.name, \SelfHostedSettings[option: $0.name], name, default: $0.defaultText, $0.help)
            }
    }

    /// The general limits that a self-hosted destination can override.
    static let selfHostedLimits = (admission + reserves).map { $0.lifted(\SelfHostedSettings.limits) }
    static let selfHostedForwarding = forward.map { $0.lifted(\SelfHostedSettings.forward) }

    static func selfHostedDestinationKeys(_ kind: SelfHostedKind) -> [ConfigurationKey<SelfHostedSettings>] {
        selfHosted(kind) + selfHostedLimits + selfHostedForwarding
    }
}

/// A section of the configuration, and the keys it may contain.
package enum ConfigurationSection: Hashable, Sendable {
    case socket
    case store
    case access
    case limits
    case forward
    case log
    case logzIO
    case selfHosted(SelfHostedKind)

    /// The name in brackets.
    package var name: String {
        switch self {
        case .socket: "Socket"
        case .store: "Store"
        case .access: "Access"
        case .limits: "Limits"
        case .forward: "Forward"
        case .log: "Log"
        case .logzIO: "LogzIO"
        case .selfHosted(let kind): kind.section
        }
    }

    package static let all: [ConfigurationSection] =
        [.socket, .store, .access, .limits, .forward, .log, .logzIO] + SelfHostedKind.all.map { .selfHosted($0) }

    /// Returns the section with this name; nil if there is none.
    package static func named(_ name: String) -> ConfigurationSection? { all.first { $0.name == name } }

    /// Sections that are planned but not supported by this version.
    static let planned: Set<String> = ["Redaction", "Crashes"]

    /// `true` if the section may have a name of its own, as in
    /// `[Section NAME]`.
    package var allowsName: Bool {
        switch self {
        case .socket, .store, .access, .forward, .log: false
        case .limits, .logzIO, .selfHosted: true
        }
    }

    /// The kind of self-hosted destination that the section configures; nil for
    /// any other section.
    package var selfHosted: SelfHostedKind? {
        guard case .selfHosted(let kind) = self else { return nil }
        return kind
    }

    /// `true` if the section configures a destination.
    package var isDestination: Bool { self == .logzIO || selfHosted != nil }

    /// Returns the keys that the section may contain.
    ///
    /// - Parameter named: Whether the section has a name of its own. Only
    ///   `[Limits NAME]` then has other keys.
    package func keys(named: Bool) -> [KeyMetadata] {
        switch self {
        case .socket: ConfigurationTable.socket.map(\.facts)
        case .store: ConfigurationTable.store.map(\.facts)
        case .access: ConfigurationTable.access.map(\.facts)
        case .limits where named: ConfigurationTable.application.map(\.facts)
        case .limits: ConfigurationTable.limits.map(\.facts)
        case .forward: ConfigurationTable.forward.map(\.facts)
        case .log: ConfigurationTable.log.map(\.facts)
        case .logzIO: ConfigurationTable.destination.map(\.facts)
        case .selfHosted(let kind): ConfigurationTable.selfHostedDestinationKeys(kind).map(\.facts)
        }
    }

    /// The keys of a section without a name, as keys of the whole
    /// configuration. Empty for destinations.
    var topLevelKeys: [ConfigurationKey<Configuration>] {
        switch self {
        case .socket: ConfigurationTable.socket.map { $0.lifted(\.socket) }
        case .store: ConfigurationTable.store.map { $0.lifted(\.store) }
        case .access: ConfigurationTable.access.map { $0.lifted(\.access) }
        case .limits: ConfigurationTable.limits.map { $0.lifted(\.limits) }
        case .forward: ConfigurationTable.forward.map { $0.lifted(\.forward) }
        case .log: ConfigurationTable.log.map { $0.lifted(\.log) }
        case .logzIO, .selfHosted: []
        }
    }
}

/// A key of a section: its syntax, the property it sets, and its description.
struct ConfigurationKey<Root>: Sendable {
    let facts: KeyMetadata
    /// Assigns the parsed text to the property. An invalid text is ignored.
    let assign: @Sendable (inout Root, String) -> Void
    /// Returns the property's value in the syntax of the file.
    let text: @Sendable (Root) -> String

    var name: String { facts.name }

    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ form: ValueForm<Value>,
        default defaultText: String, _ help: String
    ) {
        facts = KeyMetadata(
            name: name, defaultText: defaultText, help: help, isList: false, expected: form.expected,
            isRepeated: form.isRepeated, accepts: { form.parse($0) != nil })
        assign = { root, text in
            if let value = form.parse(text) { root[keyPath: path] = value }
        }
        text = { form.text($0[keyPath: path]) }
    }

    /// Creates a key whose value may be absent.
    init<Value>(
        optional name: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ form: ValueForm<Value>,
        default defaultText: String, _ help: String
    ) {
        self.init(name, path, form.optional(), default: defaultText, help)
    }

    /// Creates a key that may occur several times. Each occurrence appends to
    /// the list.
    init<Element>(
        list name: String, _ path: any WritableKeyPath<Root, [Element]> & Sendable, _ form: ValueForm<[Element]>,
        default defaultText: String, _ help: String
    ) {
        facts = KeyMetadata(
            name: name, defaultText: defaultText, help: help, isList: true, expected: form.expected,
            isRepeated: form.isRepeated, accepts: { form.parse($0) != nil })
        assign = { root, text in root[keyPath: path] += form.parse(text) ?? [] }
        text = { form.text($0[keyPath: path]) }
    }

    private init(
        facts: KeyMetadata, assign: @escaping @Sendable (inout Root, String) -> Void,
        text: @escaping @Sendable (Root) -> String
    ) {
        self.facts = facts
        self.assign = assign
        self.text = text
    }

    /// Returns the same key for a value that contains this section.
    func lifted<Whole>(
        _ path: any WritableKeyPath<Whole, Root> & Sendable
    ) -> ConfigurationKey<Whole> {
        ConfigurationKey<Whole>(
            facts: facts, assign: { whole, text in assign(&whole[keyPath: path], text) },
            text: { text($0[keyPath: path]) })
    }
}

/// The part of a key that does not depend on the type of its value.
package struct KeyMetadata: Sendable {
    package let name: String
    /// The default, written as in the shipped file.
    package let defaultText: String
    /// A one-line description.
    package let help: String
    package let isList: Bool
    /// The end of an error message that starts with "expected".
    package let expected: String
    /// `false` if a wrong value must not appear in an error message, because it
    /// may be a secret.
    let isRepeated: Bool
    /// Returns whether a text is a valid value.
    package let accepts: @Sendable (String) -> Bool
}
