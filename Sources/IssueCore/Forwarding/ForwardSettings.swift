/// When and in what portions records leave (`[Forward]`); a rate or a number of bytes of zero takes that limit away.
package struct ForwardSettings: Hashable, Sendable {
    package var batchRecords: Int = 500
    package var batchBytes: Int = 1 << 20
    package var batchDelay: Duration = .seconds(5)
    package var criticalDelay: Duration = .seconds(1)
    /// In records, by the real clock.
    package var sendRate = Rate(600, per: .seconds(60))
    package var connectTimeout: Duration = .seconds(10)
    package var requestTimeout: Duration = .seconds(30)
    package var retryFor: Duration = .seconds(7 * 86_400)
    /// How much of the send rate what is old may take, so that what is fresh need not queue behind it.
    package var backlogShare = Share(percent: 80)
    /// In bytes before compression, in a real UTC day.
    package var dailyBytes: Int64 = 500 << 20
    package var compression = true
    /// A batch that a crash left behind waits up to this long, so that a crash loop does not hammer.
    package var resumeDelay: Duration = .seconds(5)

    package init() {}

    /// For a store of the team's own, which takes every record.
    package static var withoutLimits: ForwardSettings {
        var settings = ForwardSettings()
        settings.batchRecords = 10_000
        settings.batchBytes = 8 << 20
        settings.sendRate = .unlimited
        settings.dailyBytes = 0
        return settings
    }
}
