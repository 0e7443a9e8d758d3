/// An account at Logz.io that records are forwarded to.
package struct LogzIODestination: Hashable, Sendable {
    /// What `status` and the fates call it.
    package var name: String
    package var listener: PlainURL
    package var token: TokenFile
    package var settings: LogzIOSettings

    package init(name: String, listener: PlainURL, token: TokenFile, settings: LogzIOSettings) {
        self.name = name
        self.listener = listener
        self.token = token
        self.settings = settings
    }

    /// The name of the one whose section has none.
    package static let usualName = "logzio"
}
