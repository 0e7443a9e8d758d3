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

    /// What one user has taken and has not been refilled yet.
    package struct Use: Equatable, Sendable {
        package var user: UInt32
        package var tokens: Double

        package init(user: UInt32, tokens: Double) {
            self.user = user
            self.tokens = tokens
        }
    }

    package var key: Key
    /// In tokens.
    package var level: Double
    package var at: LogInstant
    /// Of a bucket that users share.
    package var uses: [Use]

    package init(key: Key, level: Double, at: LogInstant, uses: [Use] = []) {
        self.key = key
        self.level = level
        self.at = at
        self.uses = uses
    }
}
