package import HTTPShipping

/// The listener to which lines are sent.
package typealias LogzAddress = HTTPAddress

extension HTTPAddress {
    package init(_ region: LogzRegion, _ scheme: Scheme = .https) {
        self.init(scheme: scheme, host: region.host, port: scheme.listenerPort)
    }
}

extension HTTPAddress {
    /// The listener that takes lines over TLS and gives no answer.
    package init(streamingTo region: LogzRegion) {
        self.init(scheme: .https, host: region.host, port: 5052)
    }
}

extension HTTPAddress.Scheme {
    /// The port of Logz.io for it.
    package var listenerPort: UInt16 {
        switch self {
        case .http: 8070
        case .https: 8071
        }
    }
}
