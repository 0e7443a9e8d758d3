/// How much of what happened operators were not told one by one.
package struct UntoldNews: Equatable, Sendable {
    package private(set) var new: Int64 = 0
    package private(set) var critical: Int64 = 0
    package private(set) var regressed: Int64 = 0
    /// Of whom most of it was, as far as that is known of so many users.
    package var uid: UInt32?

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
