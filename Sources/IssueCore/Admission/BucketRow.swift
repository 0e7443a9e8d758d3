/// The content of one bucket as it is stored.
package struct BucketRow: Equatable, Sendable {
    /// Which bucket it is: all of a destination, or those of one application.
    package struct Key: Hashable, Sendable {
        /// Nothing for the destination's own buckets.
        package var account: Int64?
        package var role: BucketRole

        package init(account: Int64?, role: BucketRole) {
            self.account = account
            self.role = role
        }
    }

    package var key: Key
    /// In tokens.
    package var level: Double
    package var at: LogInstant

    package init(key: Key, level: Double, at: LogInstant) {
        self.key = key
        self.level = level
        self.at = at
    }
}
