package import HTTPShipping
package import IssueCore

/// What stands in the section of a store of the team's own.
package struct OwnStoreSettings: Hashable, Sendable {
    package var url: HTTPAddress?
    /// Nil: none is needed.
    package var credential: String?
    package var caFile: String?
    package var proxy: String?
    package var backlog = Backlog.new
    /// There are none unless the section sets some: the store is the team's own.
    package var limits = LimitSettings.withoutLimits
    package var forward: ForwardSettings
    private var options: [String: String] = [:]

    /// What a key says that only this kind of store has.
    package subscript(option name: String) -> String? {
        get { options[name] }
        set { options[name] = newValue }
    }

    /// - Parameter kind: Whose keys have defaults.
    /// - Parameter shared: What `[Forward]` says for all.
    package init(_ kind: OwnStoreKind, _ shared: ForwardSettings) {
        let own = ForwardSettings.withoutLimits
        forward = shared
        forward.batchRecords = own.batchRecords
        forward.batchBytes = own.batchBytes
        forward.sendRate = own.sendRate
        forward.dailyBytes = own.dailyBytes
        for option in kind.format.options where !option.defaultText.isEmpty {
            options[option.name] = option.defaultText
        }
    }
}
