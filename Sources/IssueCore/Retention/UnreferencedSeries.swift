/// An estimate of the space that series, groups and counts still take up although retention has removed their records.
///
/// This space no longer counts as its user's data. If it were not freed first, retention would continue with the records
/// of other users.
package struct UnreferencedSeries: Equatable, Sendable {
    /// The bytes of series that have probably lost their last record, by user.
    package private(set) var bytes: [UInt32: Int64] = [:]
    /// As much may be left behind, in bytes, in any database.
    private static let allowance: Int64 = 256 << 10

    package init() {}

    /// Adds series that have probably lost their last record.
    ///
    /// - Parameters:
    ///   - series: Their number.
    ///   - user: Their user.
    package mutating func add(_ series: Int, of user: UInt32) {
        guard series > 0 else { return }
        bytes[user, default: 0] += Int64(series) * RangePostings.Posting.bytesOfSeries
    }

    /// Returns whether this space must be freed before records of a user are removed.
    ///
    /// A user's own series may take up more than those of others, so that not every removal of records is followed by
    /// a search for series without records.
    ///
    /// - Parameters:
    ///   - user: The user whose records are to be removed; nil if no user has any.
    ///   - maxSize: The maximum size of the database, in bytes.
    package func mustBeCollected(before user: UInt32?, maxSize: Int64) -> Bool {
        let all = bytes.values.reduce(0, +)
        let others = all - (user.flatMap { bytes[$0] } ?? 0)
        return all > max(maxSize / 64, Self.allowance) || others > max(maxSize / 1024, Self.allowance)
    }
}
