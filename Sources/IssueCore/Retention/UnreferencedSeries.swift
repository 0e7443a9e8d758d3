/// An estimate of the space that series, groups and counts still take up although retention has removed their records.
///
/// This space no longer counts as the data of a user. If it were not freed first, retention would continue with the
/// records of other users.
package struct UnreferencedSeries: Equatable, Sendable {
    /// The bytes by user.
    private var bytes: [UInt32: Int64] = [:]
    /// The estimated size, in bytes, up to which the series of a user are left alone in a database of any size.
    private static let allowance: Int64 = 256 << 10

    package init() {}

    /// Adds a series that has probably lost its last record.
    ///
    /// - Parameters:
    ///   - keyBytes: The size of the series' key, in bytes.
    ///   - user: The id of the user whose series it is.
    package mutating func add(keyBytes: Int64, of user: UInt32) {
        // The columns of a series repeat its key.
        bytes[user, default: 0] += RangePostings.Posting.bytesOfSeries + 2 * keyBytes
    }

    /// Adds the series of another estimate.
    package mutating func add(_ other: UnreferencedSeries) {
        bytes.merge(other.bytes) { $0 + $1 }
    }

    /// Removes all series of some users.
    package mutating func remove(_ users: Set<UInt32>) {
        for user in users { bytes[user] = nil }
    }

    /// Returns the users whose series without records take up so much space that they are removed before any further
    /// record.
    ///
    /// - Parameter maxSize: The maximum size of the database, in bytes.
    package func users(maxSize: Int64) -> Set<UInt32> {
        Set(bytes.filter { $0.value > max(maxSize / 1024, Self.allowance) }.keys)
    }
}
