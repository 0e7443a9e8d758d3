package import IssueCore

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

    package init() {}

    /// What holds where no file says anything else.
    package static let `default` = Configuration()
}
