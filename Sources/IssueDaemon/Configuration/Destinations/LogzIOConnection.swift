import HTTPShipping
import LogzShipping

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
