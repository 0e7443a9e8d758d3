import Destinations
import IssueCore

/// The keys of each section, in the order of the manual. Parsing, error messages, `--print-config` and the tests of the
/// manual all use this table. A key's default is the initial value of its property, unless the key has an explicit
/// default.
enum ConfigurationTable {
    static let socket: [ConfigurationKey<Configuration>] = [
        .init("Path", \.socket.path, .socketPath, "The socket that applications report to."),
        .init("Mode", \.socket.mode, .mode, "The permissions of the socket."),
        .init(
            "MaxConnections", \.socket.maxConnections, .count(1...1_000_000),
            "The maximum number of connections of all users."),
        .init(
            "MaxConnectionsPerUser", \.socket.maxConnectionsPerUser, .count(1...1_000_000),
            "The maximum number of connections of one user."),
        .init("MaxMessageSize", \.socket.maxMessageSize, .size(4096...64 << 20), "The maximum size of a call."),
        .init("MaxRecordSize", \.socket.maxRecordSize, .size(1024...16 << 20), "The maximum size of a record."),
        .init("MaxDepth", \.socket.maxDepth, .count(4...256), "The maximum nesting depth of a record's JSON."),
        .init("MaxKeys", \.socket.maxKeys, .count(16...65_536), "The maximum number of keys in a record."),
        .init(
            "MaxBytesInFlightPerUser", \.socket.maxBytesInFlightPerUser, .size(4096...1 << 30),
            "The maximum size of one user's unanswered reports and unprocessed messages."),
        .init(
            "MaxMemory", \.socket.maxMemory, .size(16 << 20...1 << 40),
            "The maximum memory for messages of all senders and the replies to them."),
        .init(
            "ReadTimeout", \.socket.readTimeout, .duration(.milliseconds(100)...(.seconds(3600))),
            "How long a client may take to send the rest of a call."),
    ]

    static let store: [ConfigurationKey<Configuration>] = [
        .init("Path", \.store.path, .path, "The database, on a local disk."),
        .init("MaxSize", \.store.retention.maxSize, .size(1 << 20...1 << 50), "The maximum size of the database."),
        .init(
            "MaxAge", \.store.retention.maxAge, .duration(.seconds(1)...(.seconds(36_525 * 86_400))),
            "The maximum age of a record."),
        .init(
            "KeepFree", \.store.retention.keepFree, .size(0...1 << 50), "The free space to leave on the file system."),
        .init(
            "ResolveAfter", \.store.retention.resolveAfter,
            .duration(.seconds(60)...(.seconds(36_525 * 86_400)), zero: "never"),
            "The time without occurrences after which an issue is resolved."),
    ]

    static let access: [ConfigurationKey<Configuration>] = [
        .init(list: "Readers", \.access.readers, .groups, "Groups whose members see the records of all users."),
        .init(
            list: "Operators", \.access.operators, .groups,
            "Groups whose members may also set states, flush, requeue, back up, repair and purge."),
        .init(
            "ContainerUsers", \.access.containerUsers, .boolean,
            "Whether the user ids 524288 to 1879048191 belong to containers, except those in /etc/subuid."),
    ]

    static let redaction: [ConfigurationKey<Configuration>] = [
        rule("Password", .password, "Values with names such as password, passwd, passphrase or pwd."),
        rule("Secret", .secret, "Values with names such as secret, credentials or private_key, or listed in Keys=."),
        rule("Token", .token, "Values with names such as token or access_token."),
        rule("APIKey", .apikey, "Values with names such as api_key, access_key or secret_key."),
        rule("Authorization", .authorization, "Values named authorization; a scheme such as Basic is kept."),
        rule("Cookie", .cookie, "Values named cookie or set-cookie."),
        rule("Bearer", .bearer, "Tokens after the word Bearer."),
        rule("URLAuth", .urlauth, "User and password in a URL."),
        rule("JWT", .jwt, "JSON Web Tokens."),
        rule("PEMKey", .pemkey, "Private keys in PEM."),
        rule("AWSKey", .awskey, "Access key ids of AWS."),
        rule("LogzIOToken", .logziotoken, "Shipping tokens of Logz.io that follow a name that contains logz."),
        rule("ServiceToken", .servicetoken, "Access tokens of GitHub, GitLab and Slack."),
        rule("CreditCard", .creditcard, "Numbers of payment cards."),
        rule("IBAN", .iban, "International bank account numbers."),
        rule("Email", .email, "E-mail addresses."),
        rule("IP", .ip, "IPv4 and IPv6 addresses, except loopback addresses and 0.0.0.0."),
        .init(list: "Keys", \.redaction.keys, .names, "More names of secret values."),
        .init(list: "PlainKeys", \.redaction.plainKeys, .names, "Names whose values are not secret."),
    ]

    private static func rule(
        _ name: String, _ rule: RedactionRule, _ help: String
    ) -> ConfigurationKey<Configuration> {
        let form = ValueForm<RedactionAction>.choice
        return ConfigurationKey(
            name, \Configuration.redaction[rule], form, default: form.text(RedactionSettings()[rule]), help)
    }

    static let forward: [ConfigurationKey<ForwardSettings>] = [
        .init("BatchRecords", \.batchRecords, .count(1...100_000), "The number of records at which a batch is sent."),
        .init("BatchBytes", \.batchBytes, .size(16 << 10...10 << 20), "The size at which a batch is sent."),
        .init(
            "BatchDelay", \.batchDelay, .duration(.zero...(.seconds(3600))),
            "The age of a batch's oldest record at which the batch is sent."),
        .init(
            "CriticalDelay", \.criticalDelay, .duration(.zero...(.seconds(3600))),
            "BatchDelay= for critical records, new issues and regressions."),
        .init("SendRate", \.sendRate, .rate, "The maximum rate of records sent."),
        .init(
            "ConnectTimeout", \.connectTimeout, .duration(.milliseconds(100)...(.seconds(600))),
            "The timeout for connecting."),
        .init(
            "RequestTimeout", \.requestTimeout, .duration(.milliseconds(100)...(.seconds(3600))),
            "The timeout for a request."),
        .init(
            "RetryFor", \.retryFor, .duration(.seconds(1)...(.seconds(366 * 86_400))),
            "How long a batch is retried before it becomes dead letters."),
        .init("BacklogShare", \.backlogShare, .share(1...100), "The share of SendRate= that a backlog may use."),
        .init(
            "DailyBytes", \.dailyBytes, .size(1 << 20...1 << 50, zero: "no limit"),
            "The maximum number of bytes per day, before compression."),
        .init("Compression", \.compression, .boolean, "Whether to compress batches."),
    ]

    static let log: [ConfigurationKey<Configuration>] = [
        .init("Level", \.log.level, .choice, "The lowest level that is logged."),
        .init("Target", \.log.target, .choice, "Where log messages go."),
    ]
}

extension ConfigurationTable {
    /// The limits of what is forwarded. Each destination can override them.
    static let admission: [ConfigurationKey<LimitSettings>] = [
        .init("GroupBurst", \.groupBurst, burst, "The burst of records of one issue."),
        .init("GroupRefill", \.groupRefill, .rate, "The rate at which GroupBurst= refills."),
        .init("ApplicationBurst", \.applicationBurst, burst, "The burst of records of one application."),
        .init("ApplicationRefill", \.applicationRefill, .rate, "The rate at which ApplicationBurst= refills."),
        .init("GlobalBurst", \.globalBurst, burst, "The burst of records of this host, shared by its users."),
        .init("GlobalRefill", \.globalRefill, .rate, "The rate at which GlobalBurst= refills."),
    ]

    /// The limits that apply when a record is received, before it is forwarded to any destination.
    static let guards: [ConfigurationKey<LimitSettings>] = [
        .init(
            "NewGroupsPerApplication", \.newGroupsPerApplication, .rate,
            "The rate of new issues of one application; more go to an overflow group."),
        .init(
            "NewSeriesPerApplication", \.newSeriesPerApplication, .rate, "The rate of new series of one application."),
        .init(
            "ApplicationsPerUser", \.applicationsPerUser, .count(1...1_000_000, zero: "no limit"),
            "The maximum number of new application names of one user per day."),
    ]

    /// The reserves of the rate limits, and when summaries are sent.
    static let reserves: [ConfigurationKey<LimitSettings>] = [
        .init("CriticalReserve", \.criticalReserve, .share(0...99), "The share reserved for critical records."),
        .init("SummaryReserve", \.summaryReserve, .share(0...99), "The share reserved for summaries."),
        .init("NoveltyReserve", \.noveltyReserve, .share(0...99), "The share reserved for new issues."),
        .init(
            "SummaryInterval", \.summaryInterval, .duration(.seconds(1)...(.seconds(86_400))),
            "The time until the first summary."),
        .init(
            "SummaryIntervalMax", \.summaryIntervalMax, .duration(.seconds(1)...(.seconds(86_400))),
            "The maximum time between two summaries."),
    ]

    static let limits = admission + guards + reserves

    /// The keys of `[Limits NAME]`. If the key of a limit is not set, the general limit applies.
    static let application: [ConfigurationKey<ApplicationLimitOverride>] = [
        .init(optional: "User", \.uid, .user, "The user who runs the application."),
        .init(optional: "GroupBurst", \.groupBurst, burst, "The burst of records of one issue."),
        .init(optional: "GroupRefill", \.groupRefill, .rate, "The rate at which GroupBurst= refills."),
        .init(optional: "ApplicationBurst", \.applicationBurst, burst, "The burst of records of the application."),
        .init(
            optional: "ApplicationRefill", \.applicationRefill, .rate, "The rate at which ApplicationBurst= refills."),
        .init(
            optional: "MaxAge", \.maxAge, .duration(.seconds(1)...(.seconds(36_525 * 86_400))),
            "The maximum age of the application's records, instead of the one in [Store]."),
    ]

    private static let burst: ValueForm<Int64> = .count(1...1_000_000_000, zero: "no limit")
}

extension ConfigurationTable {
    /// Returns the keys of a kind of destination, except those for limits and forwarding.
    static func destination(_ kind: DestinationKind) -> [ConfigurationKey<DestinationSettings>] {
        let shared: [ConfigurationKey<DestinationSettings>] = [
            .init(optional: "URL", \.url, .address(of: kind), default: "", "The URL of the server."),
            .init(
                optional: "Credential", \.credential, .credential, default: kind.format.defaultCredential ?? "",
                "The credential or file that holds the token, password or key."),
            .init(
                optional: "CAFile", \.caFile, .path, default: "", "The certificates to trust instead of the system's."),
            .init(optional: "Proxy", \.proxy, .proxy, default: "", "The proxy to use."),
            .init(
                "Backlog", \.backlog, .choice, default: "new",
                "Whether to forward only new records, or also those stored before the section was added."),
        ]
        return shared
            + kind.format.options.map {
                .init(
                    optional: $0.name, \DestinationSettings[option: $0.name], .option($0), default: $0.defaultText,
                    $0.help)
            }
    }

    /// The general limits and forwarding settings that a destination can override.
    static let overridable =
        (admission + reserves).map { $0.lifted(\DestinationSettings.limits) }
        + forward.map { $0.lifted(\DestinationSettings.forward) }
}

/// A section of the configuration, and the keys it may contain.
package enum ConfigurationSection: Hashable, Sendable {
    case socket, store, access, redaction, limits, forward, log, notify
    case destination(DestinationKind)

    /// The name in brackets.
    package var name: String {
        switch self {
        case .socket: "Socket"
        case .store: "Store"
        case .access: "Access"
        case .redaction: "Redaction"
        case .limits: "Limits"
        case .forward: "Forward"
        case .log: "Log"
        case .notify: "Notify"
        case .destination(let kind): kind.section
        }
    }

    package static let all: [ConfigurationSection] =
        [.socket, .store, .access, .redaction, .limits, .forward, .log] + DestinationKind.all.map { .destination($0) }
        + [.notify]

    /// Returns the section with this name; nil if there is none.
    package static func named(_ name: String) -> ConfigurationSection? { all.first { $0.name == name } }

    /// Sections that are planned but not supported by this version.
    static let planned: Set<String> = ["Crashes"]

    /// Whether the section may have a name of its own, as in `[Section NAME]`.
    package var allowsName: Bool { self == .limits || isTarget }

    /// The kind of destination that the section configures; nil for any other section.
    package var destination: DestinationKind? {
        guard case .destination(let kind) = self else { return nil }
        return kind
    }

    /// Whether the section configures a destination.
    package var isDestination: Bool { destination != nil }

    /// Whether the section configures a destination or a notifier.
    package var isTarget: Bool { isDestination || self == .notify }

    /// Returns the keys that the section may contain.
    ///
    /// - Parameter named: `true` if the section has a name of its own. It matters only for `[Limits NAME]`.
    package func keys(named: Bool) -> [KeyMetadata] {
        switch self {
        case .limits where named: ConfigurationTable.application.map(\.metadata)
        case .destination(let kind):
            (ConfigurationTable.destination(kind) + ConfigurationTable.overridable).map(\.metadata)
        case .notify: ConfigurationTable.notifier.map(\.metadata)
        case .socket, .store, .access, .redaction, .limits, .forward, .log: topLevelKeys.map(\.metadata)
        }
    }

    /// The keys of a section without a name, as keys of the whole configuration. Empty for destinations and notifiers.
    var topLevelKeys: [ConfigurationKey<Configuration>] {
        switch self {
        case .socket: ConfigurationTable.socket
        case .store: ConfigurationTable.store
        case .access: ConfigurationTable.access
        case .redaction: ConfigurationTable.redaction
        case .limits: ConfigurationTable.limits.map { $0.lifted(\.limits) }
        case .forward: ConfigurationTable.forward.map { $0.lifted(\.forward) }
        case .log: ConfigurationTable.log
        case .destination, .notify: []
        }
    }
}

/// A key of a section: its syntax, the property it sets, and its description.
struct ConfigurationKey<Root>: Sendable {
    let metadata: KeyMetadata
    /// Assigns the parsed text to the property, or appends it if the key may occur several times. An invalid text is
    /// ignored.
    let assign: @Sendable (inout Root, String) -> Void
    /// Returns the property's value in the syntax of the file.
    let text: @Sendable (Root) -> String

    var name: String { metadata.name }

    /// Returns the same key for settings that contain `Root` at a key path.
    func lifted<Whole>(_ path: any WritableKeyPath<Whole, Root> & Sendable) -> ConfigurationKey<Whole> {
        ConfigurationKey<Whole>(
            metadata: metadata, assign: { whole, text in assign(&whole[keyPath: path], text) },
            text: { text($0[keyPath: path]) })
    }
}

extension ConfigurationKey {
    /// Creates a key with an explicit default, as required if the initial value of the property depends on other
    /// settings or on the kind of destination.
    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ form: ValueForm<Value>,
        default defaultText: String, _ help: String
    ) {
        self.init(
            metadata: KeyMetadata(name, form, default: defaultText, help),
            assign: { root, text in
                if let value = form.parse(text) { root[keyPath: path] = value }
            }, text: { form.text($0[keyPath: path]) })
    }

    /// Creates a key whose value may be absent.
    init<Value>(
        optional name: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ form: ValueForm<Value>,
        default defaultText: String = "", _ help: String
    ) {
        self.init(name, path, form.optional(), default: defaultText, help)
    }
}

/// Settings whose defaults are the initial values of their properties.
protocol SectionSettings: Sendable {
    init()
}

extension Configuration: SectionSettings {}
extension LimitSettings: SectionSettings {}
extension ForwardSettings: SectionSettings {}

extension ConfigurationKey where Root: SectionSettings {
    /// Creates a key whose default is the property's initial value.
    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ form: ValueForm<Value>, _ help: String
    ) {
        self.init(name, path, form, default: form.text(Root()[keyPath: path]), help)
    }

    /// Creates a key that may occur several times. Each occurrence appends to the list, which is empty by default.
    init<Element>(
        list name: String, _ path: any WritableKeyPath<Root, [Element]> & Sendable, _ form: ValueForm<[Element]>,
        _ help: String
    ) {
        self.init(
            metadata: KeyMetadata(name, form, default: "", help, isList: true),
            assign: { root, text in root[keyPath: path] += form.parse(text) ?? [] },
            text: { form.text($0[keyPath: path]) })
    }
}

/// The part of a key that does not depend on the type of its value.
package struct KeyMetadata: Sendable {
    package let name: String
    /// The default in the syntax of the file; empty if there is none.
    package let defaultText: String
    /// A one-line description.
    package let help: String
    /// Whether the key may occur several times.
    package let isList: Bool
    /// A description of valid values, which follows "expected" in error messages.
    package let expected: String
    /// Whether error messages may quote an invalid value. `false` if it may be a secret.
    let isQuotable: Bool
    /// Returns `true` if a text is a valid value.
    package let accepts: @Sendable (String) -> Bool

    fileprivate init<Value>(
        _ name: String, _ form: ValueForm<Value>, default defaultText: String, _ help: String, isList: Bool = false
    ) {
        (self.name, self.defaultText, self.help, self.isList) = (name, defaultText, help, isList)
        (expected, isQuotable, accepts) = (form.expected, form.isQuotable, { form.parse($0) != nil })
    }
}
