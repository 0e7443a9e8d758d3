import ClickHouseShipping
package import HTTPShipping
import OTLPShipping
import SearchShipping

/// A store of the team's own that records are forwarded to.
package struct OwnStoreDestination: Hashable, Sendable {
    package var kind: OwnStoreKind
    /// What `status` and the fates call it.
    package var name: String
    package var address: HTTPAddress
    /// Read again whenever it may have changed; nothing where the store needs none.
    package var tokenFile: TokenFile?
    package var settings: OwnStoreSettings

    private var http: HTTPSettings {
        HTTPSettings(address, caFile: settings.caFile, proxy: settings.proxy, settings.forward)
    }

    var clickHouse: ClickHouseSettings {
        var own = ClickHouseSettings(http: http)
        own.database = settings.database
        own.table = settings.table
        own.user = settings.user ?? own.user
        return own
    }

    var search: SearchSettings {
        var own = SearchSettings(http: http)
        own.index = settings.index
        own.user = settings.user
        return own
    }

    /// An address without a path means the usual one, as with every exporter.
    var otlp: OTLPSettings {
        var own = OTLPSettings(http: http)
        if address.path == "/" {
            own.http.address = HTTPAddress(
                scheme: address.scheme, host: address.host, port: address.port, path: "/v1/logs")
        }
        return own
    }
}
