package import HTTPShipping

/// How records go to Elasticsearch or OpenSearch; all of it may be printed.
package struct SearchSettings: Equatable, Sendable {
    package var http: HTTPSettings
    package var index = "issued"
    /// With it the credential is a password, without it an API key.
    package var user: String?

    package init(http: HTTPSettings) {
        self.http = http
    }
}
