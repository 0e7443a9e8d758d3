package import Destinations
package import IssueCore
import IssueProtocol

/// How a listener of Logz.io is spoken to.
package enum LogzIOConnection: String, CaseIterable, Hashable, Sendable {
    case secure, insecure
    /// By TLS, line by line and without an answer.
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
    /// What `status` and the fates call it.
    package var name: String
    package var address: LogzAddress
    /// Read again whenever the token may have changed.
    package var tokenFile: TokenFile
    package var settings: LogzIOSettings

    package init(name: String, address: LogzAddress, tokenFile: TokenFile, settings: LogzIOSettings) {
        self.name = name
        self.address = address
        self.tokenFile = tokenFile
        self.settings = settings
    }

    /// The name of the one whose section has none.
    package static let defaultName = "logzio"

    /// The listener, fit to be shown.
    package var listener: String { address.url }

    /// What the shipper goes by.
    package var shipping: LogzSettings {
        var shipping = LogzSettings(address: address)
        shipping.type = settings.type
        shipping.metadataKey = settings.metadataKey
        shipping.http = HTTPSettings(address, caFile: settings.caFile, proxy: settings.proxy, settings.forward)
        return shipping
    }
}

/// What stands in a section `[LogzIO]`.
package struct LogzIOSettings: Hashable, Sendable {
    package var region: LogzRegion?
    package var url: LogzAddress?
    /// Nil: as the URL says, and otherwise secure.
    package var connection: LogzIOConnection?
    package var credential = "logzio-token"
    package var type = "issued"
    /// Nil: `<platform>.metadata`.
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

/// A store of the team's own that records are forwarded to.
package struct SelfHostedDestination: Hashable, Sendable {
    package var kind: SelfHostedKind
    /// What `status` and the fates call it.
    package var name: String
    package var address: HTTPAddress
    /// Read again whenever it may have changed; nothing where the store needs none.
    package var tokenFile: TokenFile?
    package var settings: SelfHostedSettings

    /// What the shipper goes by.
    var http: HTTPSettings { HTTPSettings(address, caFile: settings.caFile, proxy: settings.proxy, settings.forward) }
}

/// A kind of store, or of way to one, that a team runs itself.
package struct SelfHostedKind: Sendable {
    let format: any StoreFormat.Type

    init(_ format: any StoreFormat.Type) {
        self.format = format
    }

    /// The name of its section.
    package var section: String { format.section }

    /// The word in `status` for it, and the name of the one whose section has none.
    package var word: String { format.kind }

    static func named(_ section: String) -> SelfHostedKind? { all.first { $0.section == section } }
}

extension SelfHostedKind: Hashable {
    package static func == (one: SelfHostedKind, other: SelfHostedKind) -> Bool { one.section == other.section }

    package func hash(into hasher: inout Hasher) { hasher.combine(section) }
}

/// What stands in the section of a store of the team's own.
package struct SelfHostedSettings: Hashable, Sendable {
    package var url: HTTPAddress?
    /// Nil: none is needed.
    package var credential: String?
    package var caFile: String?
    package var proxy: String?
    package var backlog = Backlog.new
    /// There are none unless the section sets some: the store is the team's own.
    package var limits = LimitSettings.withoutLimits
    package var forward: ForwardSettings
    private var options: [String: String] = [:]

    /// What a key says that only this kind of store has.
    package subscript(option name: String) -> String? {
        get { options[name] }
        set { options[name] = newValue }
    }

    /// - Parameter kind: Whose keys have defaults.
    /// - Parameter shared: What `[Forward]` says for all.
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
    /// As a destination's section says it.
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

/// What a destination starts with.
package enum Backlog: String, CaseIterable, Hashable, Sendable {
    /// With what comes after it was configured.
    case new
    /// With what the store holds already.
    case all
}
