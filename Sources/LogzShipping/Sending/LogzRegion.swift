/// Where Logz.io has listeners.
package enum LogzRegion: String, CaseIterable, Hashable, Sendable {
    case us
    case wa
    case au
    case ca
    case eu
    case uk
    case nl

    package var host: String {
        switch self {
        case .us: "listener.logz.io"
        case .wa, .au, .ca, .eu, .uk, .nl: "listener-\(rawValue).logz.io"
        }
    }
}
