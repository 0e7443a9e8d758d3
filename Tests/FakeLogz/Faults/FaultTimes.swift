/// The number of times that a step applies.
package enum FaultTimes: Hashable, Sendable, ExpressibleByIntegerLiteral {
    case count(Int)
    case forever

    package init(integerLiteral value: Int) {
        self = .count(value)
    }

    func allows(used: Int) -> Bool {
        switch self {
        case .count(let count): used < count
        case .forever: true
        }
    }
}
