import HTTPShipping
import IssueCore
import IssueProtocol
package import LogzShipping

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
    package static let usualName = "logzio"

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
