package import IssueProtocol

/// The state of the store from which the next removals are computed. All sizes are in bytes.
package struct RetentionUsage: Equatable, Sendable {
    /// The records of one age that are removed together.
    package struct Portion: Equatable, Sendable {
        /// The application; nil for those without an age of their own.
        package var app: String?
        package var uid: UInt32?
        package var maxAge: Duration
        /// When the newest record of their range was received. It is the age of the range that counts. Nil if all their
        /// records are in the open range, which no age removes.
        package var newest: IssueTimestamp?
        package var records: Int64

        package init(
            app: String? = nil, uid: UInt32? = nil, maxAge: Duration, newest: IssueTimestamp?, records: Int64
        ) {
            (self.app, self.uid, self.maxAge) = (app, uid, maxAge)
            (self.newest, self.records) = (newest, records)
        }
    }

    package var records: Int64 = 0
    package var oldest: IssueTimestamp?
    /// The size of the database without its free pages.
    package var usedBytes: Int64 = 0
    package var spareBytes: Int64 = 0
    /// The bytes of the write-ahead log (WAL) beyond its usual size. A checkpoint frees them.
    package var excessWALBytes: Int64 = 0
    /// Nil if unknown.
    package var freeBytes: Int64?
    /// The records that were received in `period`, including those that were removed.
    package var recentRecords: Int64 = 0
    /// The time in which they were received: the last 24 hours, or less if the store is younger.
    package var period: Duration = .seconds(86_400)
    package var portions: [Portion] = []
    /// The user with the most data in closed ranges; nil if there is none.
    package var largestUser: UInt32?

    /// The approximate size of a database without records, in bytes.
    package static let emptyBytes: Int64 = 512 << 10
    /// The minimum size of a record that is assumed, in bytes.
    private static let minRecordBytes = 60.0

    package init() {}

    /// The bytes that new records add in a day; nil if there were none.
    package var growth: Int64? {
        guard records > 0, recentRecords > 0 else { return nil }
        let days = max(period / .seconds(86_400), 1.0 / 24)
        let size = max(Self.minRecordBytes, Double(usedBytes - Self.emptyBytes) / Double(records))
        let perDay = size * Double(recentRecords) / days
        return Int64(min(perDay, 1e18))
    }

    /// Returns what retention removes next, and when.
    ///
    /// The number of records is nil for a limit on space, because it depends on the ranges that are closed before the
    /// limit is reached.
    ///
    /// New records are expected at the rate of the last day, with the average size of the stored ones. A limit on space
    /// is not reached if the age-based removal begins earlier, because from then on it removes as much as is added.
    package func reply(_ settings: RetentionSettings, now: IssueTimestamp) -> RetentionReply {
        var rules = portions.map { portion in
            RetentionRule(
                .maxAge, app: portion.app, uid: portion.uid, age: portion.maxAge,
                at: portion.newest?.advanced(by: portion.maxAge),
                records: portion.newest == nil ? nil : portion.records)
        }
        if !portions.contains(where: { $0.app == nil }) { rules.append(RetentionRule(.maxAge, age: settings.maxAge)) }
        // The database grows until the oldest records reach the general age. From then on, age removes as much as is
        // added.
        let removal =
            rules.first { $0.app == nil }?.at ?? oldest?.advanced(by: settings.maxAge)
        func moment(_ room: Int64) -> IssueTimestamp? {
            if room < 0 { return now }
            guard let growth, growth > 0 else { return nil }
            let days = Double(room) / Double(growth)
            guard days < 36_525 else { return nil }
            let at = now.advanced(by: .seconds(Int64(days * 86_400)))
            return removal.map { at > $0 } ?? false ? nil : at
        }
        rules.append(
            RetentionRule(.maxSize, uid: largestUser, at: moment(settings.maxSize.clampedDifference(usedBytes))))
        let available = freeBytes?.clampedSum(spareBytes).clampedSum(excessWALBytes)
        let isReachable = settings.freeSpace(bytes: available, usedBytes: usedBytes) != .unreachable
        rules.append(
            RetentionRule(
                .keepFree, uid: largestUser,
                at: isReachable ? available.flatMap { moment($0.clampedDifference(settings.keepFree)) } : nil))
        let sorted = rules.enumerated().sorted { left, right in
            switch (left.element.at, right.element.at) {
            case (let one?, let other?) where one != other: one < other
            case (.some, nil): true
            case (nil, .some): false
            default: left.offset < right.offset
            }
        }.map(\.element)
        return RetentionReply(
            records: records, oldest: oldest, bytes: usedBytes, maxBytes: settings.maxSize, freeBytes: freeBytes,
            keepFree: settings.keepFree, growth: growth, rules: sorted)
    }
}
