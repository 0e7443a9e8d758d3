package import HTTPShipping

/// A store of the team's own that records are forwarded to.
package struct OwnStoreDestination: Hashable, Sendable {
    package var kind: OwnStoreKind
    /// What `status` and the fates call it.
    package var name: String
    package var address: HTTPAddress
    /// Read again whenever it may have changed; nothing where the store needs none.
    package var tokenFile: TokenFile?
    package var settings: OwnStoreSettings

    /// What the shipper goes by.
    var http: HTTPSettings { HTTPSettings(address, caFile: settings.caFile, proxy: settings.proxy, settings.forward) }
}
