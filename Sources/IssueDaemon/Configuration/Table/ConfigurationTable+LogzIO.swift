import IssueCore
import LogzShipping

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
