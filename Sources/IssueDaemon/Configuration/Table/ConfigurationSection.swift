/// The sections that there are, each with its keys.
package enum ConfigurationSection: Hashable, Sendable {
    case socket
    case store
    case access
    case limits
    case forward
    case log
    case logzIO
    case ownStore(OwnStoreKind)

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
        [.socket, .store, .access, .limits, .forward, .log, .logzIO] + OwnStoreKind.all.map { .ownStore($0) }

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
    package var ownStore: OwnStoreKind? {
        guard case .ownStore(let kind) = self else { return nil }
        return kind
    }

    /// Whether it says where records go.
    package var isDestination: Bool { self == .logzIO || ownStore != nil }

    package func keys(named: Bool) -> [KeyFacts] {
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
