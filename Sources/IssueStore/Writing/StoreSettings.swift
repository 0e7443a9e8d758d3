package import IssueCore

/// What the store needs to know of the configuration.
package struct StoreSettings: Sendable {
    package var path: String
    /// What an application's user is bound to, so that nobody grows the tables without end.
    package var limits: LimitSettings
    /// How much is kept, and how long.
    package var retention: RetentionSettings
    /// Random bits for the ids of a new store.
    package var randomBits: @Sendable () -> UInt64
    /// What is free on the disk that the file lies on, in bytes, where that can be known.
    package var freeBytes: @Sendable () -> Int64?
    /// How many records a range holds before it closes with the commit that reaches it, and how many bytes.
    package var rangeRecords = 65_536
    package var rangeBytes = 16 << 20

    package init(
        path: String, limits: LimitSettings, retention: RetentionSettings = RetentionSettings(),
        randomBits: @escaping @Sendable () -> UInt64, freeBytes: @escaping @Sendable () -> Int64? = { nil }
    ) {
        self.path = path
        self.limits = limits
        self.retention = retention
        self.randomBits = randomBits
        self.freeBytes = freeBytes
    }
}
