import HTTPShipping
import LogzShipping

/// How a listener of Logz.io is spoken to.
package enum LogzIOConnection: String, CaseIterable, Hashable, Sendable {
    case secure, insecure

    var scheme: LogzAddress.Scheme {
        switch self {
        case .secure: .https
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
