import Destinations
import IssueCore

/// Every key that there is, once: parsing, complaints, `--print-config` and the tests of the manual read it here.
enum ConfigurationTable {
    static let socket: [ConfigurationKey<SocketSettings>] = [
        .init("Path", \.path, .socketPath, default: "/run/issued/issued.sock", "Where applications report."),
        .init("Mode", \.mode, .mode, default: "0666", "Who may report."),
        .init(
            "MaxConnections", \.maxConnections, .count(1...1_000_000), default: "4096",
            "Connections at a time, of all users."),
        .init(
            "MaxConnectionsPerUser", \.maxConnectionsPerUser, .count(1...1_000_000), default: "1024",
            "Connections at a time, of one user."),
        .init(
            "MaxMessageSize", \.maxMessageSize, .size(4096...64 << 20), default: "1M", "The largest call."),
        .init(
            "MaxRecordSize", \.maxRecordSize, .size(1024...16 << 20), default: "256K", "The largest record."),
        .init("MaxDepth", \.maxDepth, .count(4...256), default: "32", "How deep the JSON of a record may nest."),
        .init("MaxKeys", \.maxKeys, .count(16...65_536), default: "256", "How many keys a record may have."),
        .init(
            "MaxBytesInFlightPerUser", \.maxBytesInFlightPerUser, .size(4096...1 << 30), default: "8M",
            "What one user may have sent that is not yet answered."),
        .init(
            "MaxMemory", \.maxMemory, .size(16 << 20...1 << 40), default: "256M",
            "What the daemon holds for all senders together, their replies included."),
        .init(
            "ReadTimeout", \.readTimeout, .duration(.milliseconds(100)...(.seconds(3600))), default: "30s",
            "After so long with half a call, a connection is closed."),
    ]

    static let store: [ConfigurationKey<StoreSettings>] = [
        .init("Path", \.path, .path, default: "/var/lib/issued/issues.db", "The database, on a local disk."),
        .init("MaxSize", \.maxSize, .size(1 << 20...1 << 50), default: "1G", "How much is kept."),
        .init(
            "MaxAge", \.maxAge, .duration(.seconds(1)...(.seconds(36_525 * 86_400))), default: "30d",
            "How long it is kept."),
        .init("KeepFree", \.keepFree, .size(0...1 << 50), default: "256M", "What stays free on the file system."),
    ]

    static let access: [ConfigurationKey<AccessSettings>] = [
        .init(list: "Readers", \.readers, .groups, default: "", "Groups whose members see the records of all users."),
        .init(
            list: "Operators", \.operators, .groups, default: "",
            "Groups whose members may also act on them: forward, set states, back up, repair, erase."),
        .init(
            "ContainerUsers", \.containerUsers, .boolean, default: "yes",
            "Whether the user ids 524288 to 1879048191 belong to containers, and to no person."),
    ]

    static let forward: [ConfigurationKey<ForwardSettings>] = [
        .init(
            "BatchRecords", \.batchRecords, .count(1...100_000), default: "500",
            "A batch leaves with so many records."),
        .init(
            "BatchBytes", \.batchBytes, .size(16 << 10...10 << 20), default: "1M",
            "A batch leaves with so many bytes."),
        .init(
            "BatchDelay", \.batchDelay, .duration(.zero...(.seconds(3600))), default: "5s",
            "A batch leaves when its oldest record has waited so long."),
        .init(
            "CriticalDelay", \.criticalDelay, .duration(.zero...(.seconds(3600))), default: "1s",
            "The same for records that are critical, new or back again."),
        .init("SendRate", \.sendRate, .rate, default: "600/min", "Records that are sent, at most."),
        .init(
            "ConnectTimeout", \.connectTimeout, .duration(.milliseconds(100)...(.seconds(600))), default: "10s",
            "How long to try for a connection."),
        .init(
            "RequestTimeout", \.requestTimeout, .duration(.milliseconds(100)...(.seconds(3600))), default: "30s",
            "How long a request may take."),
        .init(
            "RetryFor", \.retryFor, .duration(.seconds(1)...(.seconds(366 * 86_400))), default: "7d",
            "After so long a batch becomes a dead letter."),
        .init(
            "BacklogShare", \.backlogShare, .share(1...100), default: "80%",
            "How much of SendRate= what is old may take."),
        .init(
            "DailyBytes", \.dailyBytes, .size(1 << 20...1 << 50, zero: "no limit"), default: "500M",
            "Bytes of a day, before compression, shared among users."),
        .init("Compression", \.compression, .boolean, default: "yes", "Whether batches are compressed."),
    ]

    static let log: [ConfigurationKey<LogSettings>] = [
        .init("Level", \.level, .choice(), default: "notice", "How much is told."),
        .init("Target", \.target, .choice(), default: "auto", "Where it is told."),
    ]
}

extension ConfigurationTable {
    /// The limits of what goes to a destination, which each may have for itself.
    static let admission: [ConfigurationKey<LimitSettings>] = [
        .init("GroupBurst", \.groupBurst, burst, default: "5", "Records of one issue at once."),
        .init("GroupRefill", \.groupRefill, .rate, default: "1/5min", "How fast that fills again."),
        .init("ApplicationBurst", \.applicationBurst, burst, default: "100", "Records of one application at once."),
        .init("ApplicationRefill", \.applicationRefill, .rate, default: "60/min", "How fast that fills again."),
        .init(
            "GlobalBurst", \.globalBurst, burst, default: "300", "Records of this host at once, shared among its users."
        ),
        .init("GlobalRefill", \.globalRefill, .rate, default: "300/min", "How fast that fills again."),
    ]

    /// What is guarded where records come in, whatever the destination.
    static let guards: [ConfigurationKey<LimitSettings>] = [
        .init(
            "NewGroupsPerApplication", \.newGroupsPerApplication, .rate, default: "100/15min",
            "New issues; what is above joins the group overflow."),
        .init(
            "NewSeriesPerApplication", \.newSeriesPerApplication, .rate, default: "1000/15min", "New kinds of record."),
        .init(
            "ApplicationsPerUser", \.applicationsPerUser, .count(1...1_000_000, zero: "no limit"), default: "50",
            "Names of applications that one user may claim."),
    ]

    static let reserves: [ConfigurationKey<LimitSettings>] = [
        .init(
            "CriticalReserve", \.criticalReserve, .share(0...99), default: "20%",
            "Share that only critical records use."),
        .init("SummaryReserve", \.summaryReserve, .share(0...99), default: "10%", "Share that only summaries use."),
        .init(
            "NoveltyReserve", \.noveltyReserve, .share(0...99), default: "20%",
            "Share that only issues seen for the first time use."),
        .init(
            "SummaryInterval", \.summaryInterval, .duration(.seconds(1)...(.seconds(86_400))), default: "60s",
            "When what was held back is told first."),
        .init(
            "SummaryIntervalMax", \.summaryIntervalMax, .duration(.seconds(1)...(.seconds(86_400))),
            default: "15min", "The longest time between two summaries."),
    ]

    static let limits = admission + guards + reserves

    /// `[Limits NAME]`; empty where nothing else is said.
    static let application: [ConfigurationKey<ApplicationLimitOverride>] = [
        .init(optional: "User", \.uid, .user, default: "", "Whose application is meant."),
        .init(optional: "GroupBurst", \.groupBurst, burst, default: "", "Records of one issue at once."),
        .init(optional: "GroupRefill", \.groupRefill, .rate, default: "", "How fast that fills again."),
        .init(optional: "ApplicationBurst", \.applicationBurst, burst, default: "", "Its records at once."),
        .init(optional: "ApplicationRefill", \.applicationRefill, .rate, default: "", "How fast that fills again."),
    ]

    private static let burst: ValueForm<Int64> = .count(1...1_000_000_000, zero: "no limit")
}

extension ConfigurationTable {
    static let logzIO: [ConfigurationKey<LogzIOSettings>] = [
        .init(optional: "Region", \.region, .choice(), default: "", "Where the account lives."),
        .init(optional: "URL", \.url, .listener, default: "", "The whole address of a listener, instead."),
        .init(
            optional: "Connection", \.connection, .choice(), default: "secure",
            "By HTTPS, by HTTP, or by TLS without an answer."),
        .init("Credential", \.credential, .credential, default: "logzio-token", "Where the shipping token is."),
        .init(
            "Type", \.type, .name("a type of at most 64 letters, digits, “_”, “-” and “.”"), default: "issued",
            "The type of the records."),
        .init(
            optional: "MetadataKey", \.metadataKey, .metadataKey, default: "", "The key of the metadata."),
        .init(optional: "CAFile", \.caFile, .path, default: "", "Certificates to trust instead of the system's."),
        .init(optional: "Proxy", \.proxy, .proxy, default: "", "A proxy to go through."),
        .init("Backlog", \.backlog, .choice(), default: "new", "What it starts with."),
    ]

    /// What each destination may also say for itself.
    static let ownLimits = (admission + reserves).map { $0.lifted(\LogzIOSettings.limits) }
    static let ownForwarding = forward.map { $0.lifted(\LogzIOSettings.forward) }

    static let destination = logzIO + ownLimits + ownForwarding
}

extension ConfigurationTable {
    /// What each of them has before the keys of its own.
    private static let ownStore: [ConfigurationKey<SelfHostedSettings>] = [
        .init(optional: "URL", \.url, .listener, default: "", "Where it listens."),
        .init(optional: "Credential", \.credential, .credential, default: "", "Where its password or key is."),
        .init(optional: "CAFile", \.caFile, .path, default: "", "Certificates to trust instead of the system's."),
        .init(optional: "Proxy", \.proxy, .proxy, default: "", "A proxy to go through."),
        .init("Backlog", \.backlog, .choice(), default: "new", "What it starts with."),
    ]

    /// The keys of a kind that no other section of a destination shares.
    static func ownStore(_ kind: SelfHostedKind) -> [ConfigurationKey<SelfHostedSettings>] {
        let name = ValueForm<String>.name("a name of at most 64 letters, digits, “_”, “-” and “.”")
        return ownStore
            + kind.format.options.map {
                .init(
                    optional: $0.name, \SelfHostedSettings[option: $0.name], name, default: $0.defaultText, $0.help)
            }
    }

    /// What each may say besides.
    static let ownStoreLimits = (admission + reserves).map { $0.lifted(\SelfHostedSettings.limits) }
    static let ownStoreForwarding = forward.map { $0.lifted(\SelfHostedSettings.forward) }

    static func ownStoreDestination(_ kind: SelfHostedKind) -> [ConfigurationKey<SelfHostedSettings>] {
        ownStore(kind) + ownStoreLimits + ownStoreForwarding
    }
}

/// The sections that there are, each with its keys.
package enum ConfigurationSection: Hashable, Sendable {
    case socket
    case store
    case access
    case limits
    case forward
    case log
    case logzIO
    case ownStore(SelfHostedKind)

    package var name: String {
        switch self {
        case .socket: "Socket"
        case .store: "Store"
        case .access: "Access"
        case .limits: "Limits"
        case .forward: "Forward"
        case .log: "Log"
        case .logzIO: "LogzIO"
        case .ownStore(let kind): kind.section
        }
    }

    package static let all: [ConfigurationSection] =
        [.socket, .store, .access, .limits, .forward, .log, .logzIO] + SelfHostedKind.all.map { .ownStore($0) }

    package static func named(_ name: String) -> ConfigurationSection? { all.first { $0.name == name } }

    /// Sections that the design has and this version does not.
    static let planned: Set<String> = ["Redaction", "Crashes"]

    /// Whether `[Section NAME]` is possible.
    package var mayHaveName: Bool {
        switch self {
        case .socket, .store, .access, .forward, .log: false
        case .limits, .logzIO, .ownStore: true
        }
    }

    /// The kind of store of the team's own that it is about, if it is.
    package var ownStore: SelfHostedKind? {
        guard case .ownStore(let kind) = self else { return nil }
        return kind
    }

    /// Whether it says where records go.
    package var isDestination: Bool { self == .logzIO || ownStore != nil }

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
        case .ownStore(let kind): ConfigurationTable.ownStoreDestination(kind).map(\.facts)
        }
    }

    /// The keys of the sections without a name, for the configuration as a whole.
    var wholeKeys: [ConfigurationKey<Configuration>] {
        switch self {
        case .socket: ConfigurationTable.socket.map { $0.lifted(\.socket) }
        case .store: ConfigurationTable.store.map { $0.lifted(\.store) }
        case .access: ConfigurationTable.access.map { $0.lifted(\.access) }
        case .limits: ConfigurationTable.limits.map { $0.lifted(\.limits) }
        case .forward: ConfigurationTable.forward.map { $0.lifted(\.forward) }
        case .log: ConfigurationTable.log.map { $0.lifted(\.log) }
        case .logzIO, .ownStore: []
        }
    }
}

/// One key of a section: how it is written, what it sets, and what to say of it.
struct ConfigurationKey<Root>: Sendable {
    let facts: KeyMetadata
    /// Sets what the text says; a text that is not accepted changes nothing.
    let assign: @Sendable (inout Root, String) -> Void
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

    /// A key whose value need not be there.
    init<Value>(
        optional name: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ form: ValueForm<Value>,
        default defaultText: String, _ help: String
    ) {
        self.init(name, path, form.optional(), default: defaultText, help)
    }

    /// A key that may stand several times, each time adding to what was said before.
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

    /// The same key of something that holds its section.
    func lifted<Whole>(
        _ path: any WritableKeyPath<Whole, Root> & Sendable
    ) -> ConfigurationKey<Whole> {
        ConfigurationKey<Whole>(
            facts: facts, assign: { whole, text in assign(&whole[keyPath: path], text) },
            text: { text($0[keyPath: path]) })
    }
}

/// What can be said of a key without knowing what it sets.
package struct KeyMetadata: Sendable {
    package let name: String
    /// As it stands in the shipped file.
    package let defaultText: String
    /// One line for who looks it up.
    package let help: String
    package let isList: Bool
    /// Completes “expected …”.
    package let expected: String
    /// Whether a wrong value may be repeated in a complaint.
    let isRepeated: Bool
    /// Whether a text is a value of this key.
    package let accepts: @Sendable (String) -> Bool
}
