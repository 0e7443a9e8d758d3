package import HTTPShipping
package import IssueCore

/// What stands in a section `[ClickHouse]`, `[Elasticsearch]` or `[OTLP]`.
package struct OwnStoreSettings: Hashable, Sendable {
    package var url: HTTPAddress?
    /// Nil: none is needed.
    package var credential: String?
    package var user: String?
    package var database = "issued"
    package var table = "records"
    package var index = "issued"
    package var caFile: String?
    package var proxy: String?
    package var backlog = Backlog.new
    /// There are none unless the section sets some: the store is the team's own.
    package var limits = LimitSettings.withoutLimits
    package var forward: ForwardSettings

    /// - Parameter shared: What `[Forward]` says for all.
    package init(_ shared: ForwardSettings = ForwardSettings()) {
        let own = ForwardSettings.withoutLimits
        forward = shared
        forward.batchRecords = own.batchRecords
        forward.batchBytes = own.batchBytes
        forward.sendRate = own.sendRate
        forward.dailyBytes = own.dailyBytes
    }
}
