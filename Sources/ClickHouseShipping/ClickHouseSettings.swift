package import HTTPShipping

/// How records go to ClickHouse; all of it may be printed.
package struct ClickHouseSettings: Equatable, Sendable {
    package var http: HTTPSettings
    package var database = "issued"
    package var table = "records"
    /// Whose password the credential is.
    package var user = "default"

    package init(http: HTTPSettings) {
        self.http = http
    }
}
