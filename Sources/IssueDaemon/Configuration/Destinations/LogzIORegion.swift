/// Where an account at Logz.io lives.
package enum LogzIORegion: String, CaseIterable, Hashable, Sendable {
    case us, wa, au, ca, eu, uk, nl

    package var listenerHost: String {
        switch self {
        case .us: "listener.logz.io"
        case .wa: "listener-wa.logz.io"
        case .au: "listener-au.logz.io"
        case .ca: "listener-ca.logz.io"
        case .eu: "listener-eu.logz.io"
        case .uk: "listener-uk.logz.io"
        case .nl: "listener-nl.logz.io"
        }
    }
}
