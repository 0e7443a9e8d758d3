/// How a destination is spoken to over HTTP; all of it may be printed.
package struct HTTPSettings: Equatable, Sendable {
    package var address: HTTPAddress
    /// The authorities to trust in place of the system's.
    package var caFile: String?
    /// Nil leaves it to the environment, an empty text means none.
    package var proxy: String?
    package var connectTimeout: Duration = .seconds(10)
    package var requestTimeout: Duration = .seconds(30)
    /// 1 to 9; zero sends everything as it is.
    package var compressionLevel = 6
    /// Our own, for the user agent.
    package var version = "0"

    package init(address: HTTPAddress) {
        self.address = address
    }
}
