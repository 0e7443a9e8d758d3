/// The application that a record claims to come from.
package struct Application: Hashable, Sendable {
    package var name: String?
    package var version: String?
    package var build: Int64?
    package var environment: String?
    package var platform: String?
    package var network: String?
    package var development: Bool?

    package init(
        name: String? = nil, version: String? = nil, build: Int64? = nil, environment: String? = nil,
        platform: String? = nil, network: String? = nil, development: Bool? = nil
    ) {
        self.name = name
        self.version = version
        self.build = build
        self.environment = environment
        self.platform = platform
        self.network = network
        self.development = development
    }
}
