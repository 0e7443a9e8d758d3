package import HTTPShipping

/// How lines go to Logz.io; all of it may be printed.
package struct LogzSettings: Equatable, Sendable {
    package var http: HTTPSettings
    package var type = "issued"
    /// In place of `<platform>.metadata`.
    package var metadataKey: String?

    package init(address: LogzAddress) {
        http = HTTPSettings(address: address)
    }
}
