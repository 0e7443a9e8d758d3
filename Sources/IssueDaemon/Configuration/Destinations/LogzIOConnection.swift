/// How a listener of Logz.io is spoken to.
package enum LogzIOConnection: String, CaseIterable, Hashable, Sendable {
    case secure, insecure

    var scheme: String {
        switch self {
        case .secure: "https"
        case .insecure: "http"
        }
    }

    var port: UInt16 {
        switch self {
        case .secure: 8071
        case .insecure: 8070
        }
    }
}
