package import Destinations
package import IssueCore
import IssueProtocol

/// The protocol that is used for a Logz.io listener.
package enum LogzIOConnection: String, CaseIterable, Hashable, Sendable {
    case secure, insecure
    /// TLS, one line per record and without replies.
    case streaming

    var scheme: LogzAddress.Scheme {
        switch self {
        case .secure, .streaming: .https
        case .insecure: .http
        }
    }

    init(_ scheme: LogzAddress.Scheme) {
        self =
            switch scheme {
            case .https: .secure
            case .http: .insecure
            }
    }
}

/// An account at Logz.io that records are forwarded to.
package struct LogzIODestination: Hashable, Sendable {
    /// The name in `status` and in fates.
    package var name: String
    package var address: LogzAddress
    /// The file with the token. It is read again when the token may have
    /// changed.
    package var tokenFile: TokenFile
    package var settings: LogzIOSettings

    package init(name: String, address: LogzAddress, tokenFile: TokenFile, settings: LogzIOSettings) {
        self.name = name
        self.address = address
        self.tokenFile = tokenFile
        self.settings = settings
    }

    /// The name of a destination whose section has no name.
    package static let defaultName = "logzio"

    /// The URL of the listener, without secrets.
    package var listener: String { address.url }

    /// The settings for the shipper.
    package var shipping: LogzSettings {
        var shipping = LogzSettings(address: address)
        shipping.type = settings.type
        shipping.metadataKey = settings.metadataKey
        shipping.http = HTTPSettings(address, caFile: settings.caFile, proxy: settings.proxy, settings.forward)
        return shipping
    }
}

/// The settings of a `[LogzIO]` section.
package struct LogzIOSettings: Hashable, Sendable {
    package var region: LogzRegion?
    package var url: LogzAddress?
    /// nil means the scheme of the URL, or secure if there is none.
    package var connection: LogzIOConnection?
    package var credential = "logzio-token"
    package var type = "issued"
    /// nil means `<platform>.metadata`.
    package var metadataKey: String?
    package var caFile: String?
    package var proxy: String?
    package var backlog = Backlog.new
    package var limits: LimitSettings
    package var forward: ForwardSettings

    package init(limits: LimitSettings = LimitSettings(), forward: ForwardSettings = ForwardSettings()) {
        self.limits = limits
        self.forward = forward
    }
}

/// A self-hosted destination, such as ClickHouse, Elasticsearch or an OTLP
/// receiver.
package struct SelfHostedDestination: Hashable, Sendable {
    package var kind: SelfHostedKind
    /// The name in `status` and in fates.
    package var name: String
    package var address: HTTPAddress
    /// The file with the credential; nil if the server needs none. It is read
    /// again when it may have changed.
    package var tokenFile: TokenFile?
    package var settings: SelfHostedSettings

    /// The settings for HTTP requests.
    var http: HTTPSettings { HTTPSettings(address, caFile: settings.caFile, proxy: settings.proxy, settings.forward) }
}

/// A kind of self-hosted destination.
package struct SelfHostedKind: Sendable {
    let format: any StoreFormat.Type

    init(_ format: any StoreFormat.Type) {
        self.format = format
    }

    /// The name of its configuration section.
    package var section: String { format.section }

    /// The name of the kind in `status`, and of a destination whose section has
    /// no name.
    package var word: String { format.kind }

    static func named(_ section: String) -> SelfHostedKind? { all.first { $0.section == section } }
}

extension SelfHostedKind: Hashable {
    package static func == (one: SelfHostedKind, other: SelfHostedKind) -> Bool { one.section == other.section }

    package func hash(into hasher: inout Hasher) { hasher.combine(section) }
}

/// The settings in the section of a self-hosted destination.
package struct SelfHostedSettings: Hashable, Sendable {
    package var url: HTTPAddress?
    /// nil if the server needs no credential.
    package var credential: String?
    package var caFile: String?
    package var proxy: String?
    package var backlog = Backlog.new
    /// Unlimited unless the section sets limits, because the server belongs to
    /// the user.
    package var limits = LimitSettings.withoutLimits
    package var forward: ForwardSettings
    private var options: [String: String] = [:]

    /// The value of a key that only this kind of destination has.
    package subscript(option name: String) -> String? {
        get { options[name] }
        set { options[name] = newValue }
    }

    /// Creates the default settings.
    ///
    /// - Parameters:
    ///   - kind: The kind of destination. Its own keys get their defaults.
    ///   - shared: The settings of `[Forward]`. The batch sizes, the send rate and
    ///     the daily limit have other defaults for self-hosted destinations.
    package init(_ kind: SelfHostedKind, _ shared: ForwardSettings) {
        let own = ForwardSettings.withoutLimits
        forward = shared
        forward.batchRecords = own.batchRecords
        forward.batchBytes = own.batchBytes
        forward.sendRate = own.sendRate
        forward.dailyBytes = own.dailyBytes
        for option in kind.format.options where !option.defaultText.isEmpty {
            options[option.name] = option.defaultText
        }
    }
}

extension HTTPSettings {
    /// Creates the settings from those of a destination's section.
    init(_ address: HTTPAddress, caFile: String?, proxy: String?, _ forward: ForwardSettings) {
        self.init(address: address)
        self.caFile = caFile
        self.proxy = proxy
        connectTimeout = forward.connectTimeout
        requestTimeout = forward.requestTimeout
        if !forward.compression { compressionLevel = 0 }
        version = ProductVersion.text
    }
}

/// The records that a new destination starts with.
package enum Backlog: String, CaseIterable, Hashable, Sendable {
    /// Records that are stored after it was configured.
    case new
    /// All records in the store.
    case all
}
