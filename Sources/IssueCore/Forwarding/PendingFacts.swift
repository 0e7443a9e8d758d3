/// What waits to be sent, as far as it matters for when it goes.
package struct PendingFacts: Equatable, Sendable {
    package var records: Int
    /// Of their lines, as far as known; an estimate does.
    package var bytes: Int
    /// Since when the oldest of them waits; nothing where nothing does.
    package var oldest: MonotonicInstant?
    /// How many of them are critical or new.
    package var expressRecords: Int
    /// Since when the oldest of those waits that are critical or new.
    package var oldestExpress: MonotonicInstant?

    package init(
        records: Int = 0, bytes: Int = 0, oldest: MonotonicInstant? = nil, expressRecords: Int = 0,
        oldestExpress: MonotonicInstant? = nil
    ) {
        self.records = records
        self.bytes = bytes
        self.oldest = oldest
        self.expressRecords = expressRecords
        self.oldestExpress = oldestExpress
    }

    package static let nothing = PendingFacts()
}
