package import IssueCore

/// A destination that can't be used because of an error in its section.
package struct MisconfiguredDestination: Hashable, Sendable {
    package var name: String
    /// The word for its kind in `status`.
    package var kind: String
    package var backlog: Backlog
}

/// All that the daemon goes by, section by section.
package struct Configuration: Hashable, Sendable {
    package var socket = SocketSettings()
    package var store = StoreSettings()
    package var access = AccessSettings()
    package var limits = LimitSettings()
    package var forward = ForwardSettings()
    package var log = LogSettings()
    /// None: everything is collected, and nothing is forwarded.
    package var logzIO: [LogzIODestination] = []
    package var ownStores: [OwnStoreDestination] = []
    /// Destinations whose section has an error. Their records are kept until it is fixed.
    package var misconfigured: [MisconfiguredDestination] = []

    package init() {}

    /// What holds where no file says anything else.
    package static let `default` = Configuration()
}
