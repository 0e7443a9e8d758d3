package import Destinations
package import IssueCore
import IssueProtocol

/// A kind of destination.
package struct DestinationKind: Sendable {
    let format: any HTTPFormat.Type

    init(_ format: any HTTPFormat.Type) {
        self.format = format
    }

    /// All kinds. A new kind needs a file in `Sources/Destinations` and an entry here.
    static let all = [
        DestinationKind(LogzFormat.self), DestinationKind(ClickHouseFormat.self),
        DestinationKind(ElasticsearchFormat.self),
        DestinationKind(OTLPFormat.self),
    ]

    /// The name of the kind's configuration section.
    package var section: String { format.section }

    /// The name of the kind in `status`, and the name of a destination whose section has no name.
    package var name: String { format.kind }
}

extension DestinationKind: Hashable {
    package static func == (one: DestinationKind, other: DestinationKind) -> Bool { one.section == other.section }

    package func hash(into hasher: inout Hasher) { hasher.combine(section) }
}

/// A destination that records are forwarded to.
package struct DestinationConfiguration: Hashable, Sendable {
    package var kind: DestinationKind
    /// The name in `status` and in fates.
    package var name: String
    package var address: HTTPAddress
    /// The file with the credential; nil if none is configured. It is read again when it may have changed.
    package var tokenFile: TokenFile?
    package var settings: DestinationSettings

    /// The settings for HTTP requests.
    var http: HTTPSettings {
        var http = HTTPSettings(address: address)
        http.caFile = settings.caFile
        http.proxy = settings.proxy
        http.connectTimeout = settings.forward.connectTimeout
        http.requestTimeout = settings.forward.requestTimeout
        if !settings.forward.compression { http.compressionLevel = 0 }
        http.version = ProductVersion.text
        return http
    }
}

/// The settings in the section of a destination.
package struct DestinationSettings: Hashable, Sendable {
    package var url: HTTPAddress?
    /// The name of the credential, or the path of its file; nil if none is configured.
    package var credential: String?
    package var caFile: String?
    package var proxy: String?
    package var backlog = InitialBacklog.new
    package var limits: LimitSettings
    package var forward: ForwardSettings
    /// The values of the keys that not all kinds of destination have, by name.
    var options: [String: String] = [:]

    /// The value of a key that not all kinds of destination have; nil if it is not set.
    package subscript(option name: String) -> String? {
        get { options[name] }
        set { options[name] = newValue }
    }

    /// Creates the default settings.
    ///
    /// - Parameters:
    ///   - kind: The kind of destination. Its own keys get their defaults, except those that depend on the address.
    ///   - limits: The settings of `[Limits]`. A kind without default limits takes only the applications' overrides.
    ///   - forward: The settings of `[Forward]`. A kind without default limits takes the batch sizes, send rate and
    ///     daily limit from `ForwardSettings.withoutLimits` instead.
    package init(_ kind: DestinationKind, limits: LimitSettings, forward: ForwardSettings) {
        self.limits = limits
        self.forward = forward
        if !kind.format.isLimitedByDefault {
            self.limits = .withoutLimits
            self.limits.overrides = limits.overrides
            let own = ForwardSettings.withoutLimits
            self.forward.batchRecords = own.batchRecords
            self.forward.batchBytes = own.batchBytes
            self.forward.sendRate = own.sendRate
            self.forward.dailyBytes = own.dailyBytes
        }
        credential = kind.format.defaultCredential
        for option in kind.format.options where !option.defaultText.isEmpty && !option.dependsOnAddress {
            options[option.name] = option.defaultText
        }
    }
}

/// The records that a new destination starts with.
package enum InitialBacklog: String, CaseIterable, Hashable, Sendable {
    /// Records that are stored after the destination was configured.
    case new
    /// All records in the store.
    case all
}
