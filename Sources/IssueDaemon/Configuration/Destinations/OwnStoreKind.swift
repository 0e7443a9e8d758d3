import ClickHouseShipping
import OTLPShipping
import SearchShipping

/// The kinds of store, or of way to one, that a team runs itself.
package enum OwnStoreKind: String, CaseIterable, Hashable, Sendable {
    case clickHouse = "ClickHouse"
    case elasticsearch = "Elasticsearch"
    case otlp = "OTLP"

    /// The word in `status` for it, and the name of the one whose section has none.
    package var word: String {
        switch self {
        case .clickHouse: ClickHouseShipper.kind
        case .elasticsearch: SearchShipper.kind
        case .otlp: OTLPShipper.kind
        }
    }
}
