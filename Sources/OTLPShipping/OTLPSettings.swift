package import HTTPShipping

/// How records go to a receiver of OTLP/HTTP; all of it may be printed.
package struct OTLPSettings: Equatable, Sendable {
    /// The address with its path, as `/v1/logs`.
    package var http: HTTPSettings

    package init(http: HTTPSettings) {
        self.http = http
    }
}
