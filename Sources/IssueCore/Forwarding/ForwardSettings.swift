/// When and in which batches records are sent (`[Forward]`). A rate or byte count of zero disables that limit.
package struct ForwardSettings: Hashable, Sendable {
    /// The maximum number of records in a batch.
    package var batchRecords: Int = 500
    /// The size at which a batch is full, in bytes before compression.
    package var batchBytes: Int = 1 << 20
    /// The maximum time a record waits for a batch to fill.
    package var batchDelay: Duration = .seconds(5)
    /// The same for critical and new records.
    package var criticalDelay: Duration = .seconds(1)
    /// The maximum send rate, in records and real time.
    package var sendRate = Rate(600, per: .seconds(60))
    package var connectTimeout: Duration = .seconds(10)
    package var requestTimeout: Duration = .seconds(30)
    /// The time for which a batch is retried before its records are given up.
    package var retryFor: Duration = .seconds(7 * 86_400)
    /// The share of the send rate that old records may use, so that new records need not wait for them.
    package var backlogShare = Percentage(percent: 80)
    /// The maximum number of bytes sent per UTC day, before compression.
    package var dailyBytes: Int64 = 500 << 20
    package var compression = true
    /// The maximum random delay before a batch left by a crash is sent, so that a crash loop does not overload the
    /// destination.
    package var resumeDelay: Duration = .seconds(5)

    package init() {}

    /// Settings for a self-hosted destination, which accepts every record.
    package static var withoutLimits: ForwardSettings {
        var settings = ForwardSettings()
        settings.batchRecords = 10_000
        settings.batchBytes = 8 << 20
        settings.sendRate = .unlimited
        settings.dailyBytes = 0
        return settings
    }
}
