import HTTPShipping
import IssueCore

extension ConfigurationTable {
    /// What each of them has before the keys of its own.
    private static let ownStore: [ConfigurationKey<OwnStoreSettings>] = [
        .init(optional: "URL", \.url, .listener, default: "", "Where it listens."),
        .init(optional: "Credential", \.credential, .credential, default: "", "Where its password or key is."),
        .init(optional: "CAFile", \.caFile, .path, default: "", "Certificates to trust instead of the system's."),
        .init(optional: "Proxy", \.proxy, .proxy, default: "", "A proxy to go through."),
        .init("Backlog", \.backlog, .choice(), default: "new", "What it starts with."),
    ]

    /// The keys of a kind that no other section of a destination shares.
    static func ownStore(_ kind: OwnStoreKind) -> [ConfigurationKey<OwnStoreSettings>] {
        let name = ValueForm<String>.name("a name of at most 64 letters, digits, “_”, “-” and “.”")
        return ownStore
            + kind.format.options.map {
                .init(
                    optional: $0.name, \OwnStoreSettings[option: $0.name], name, default: $0.defaultText, $0.help)
            }
    }

    /// What each may say besides.
    static let ownStoreLimits = (admission + reserves).map { $0.lifted(\OwnStoreSettings.limits) }
    static let ownStoreForwarding = forward.map { $0.lifted(\OwnStoreSettings.forward) }

    static func ownStoreDestination(_ kind: OwnStoreKind) -> [ConfigurationKey<OwnStoreSettings>] {
        ownStore(kind) + ownStoreLimits + ownStoreForwarding
    }
}
