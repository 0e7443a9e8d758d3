/// How much of what happened operators were not told one by one.
package struct UntoldNews: Equatable, Sendable {
    /// How much it was of one user.
    package struct User: Equatable, Sendable {
        package var uid: UInt32
        package var count: Int64

        package init(uid: UInt32, count: Int64) {
            self.uid = uid
            self.count = count
        }
    }

    package static let maxUsers = 5

    package private(set) var new: Int64 = 0
    package private(set) var critical: Int64 = 0
    package private(set) var regressed: Int64 = 0
    /// The users with most of it, the loudest first.
    package var users: [User] = []
    /// How many users besides had some of it, as far as so many are remembered.
    package var otherUsers = 0

    package init() {}

    package var isNothing: Bool { new == 0 && critical == 0 && regressed == 0 }
    /// Whether something that can't wait is among it.
    package var isGrave: Bool { critical > 0 || regressed > 0 }

    package mutating func add(_ reason: ExpressReason) {
        switch reason {
        case .firstOfGroup: new = new.clampedSum(1)
        case .critical: critical = critical.clampedSum(1)
        case .regression: regressed = regressed.clampedSum(1)
        }
    }
}
