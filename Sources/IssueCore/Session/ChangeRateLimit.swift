/// Limits how often an ordinary user changes issues.
///
/// Each change is a transaction of its own that all reports wait for. A change of the grouping also ends the scans of
/// the destinations early, so without a limit one user would delay the forwarding of everyone's records.
package struct ChangeRateLimit: Sendable {
    package enum Kind: Int, CaseIterable, Sendable {
        /// A state of an issue, or a deployment.
        case state
        /// A correction of the grouping.
        case grouping

        /// The number of changes that are possible at once.
        package var burst: Int64 {
            switch self {
            case .state: 1000
            case .grouping: 100
            }
        }

        /// The time after which another change is possible.
        package var interval: Duration {
            switch self {
            case .state: .milliseconds(100)
            case .grouping: .seconds(1)
            }
        }
    }

    private struct Key: Hashable {
        var kind: Kind
        var user: UInt32
    }

    /// The maximum number of users remembered. Those who have all of their changes left are forgotten first.
    private static let maxUsers = 4096

    /// The time at which a user will have all changes of the burst again.
    private var full: [Key: MonotonicInstant] = [:]

    package init() {}

    /// Counts a change, unless the user must wait.
    ///
    /// - Parameter user: The accountable user.
    /// - Returns: The time to wait; nil if the change is possible now.
    package mutating func take(_ kind: Kind, user: UInt32, at now: MonotonicInstant) -> Duration? {
        let key = Key(kind: kind, user: user)
        let next = max(full[key] ?? now, now).advanced(by: kind.interval)
        let excess = now.duration(to: next) - kind.interval * Int(kind.burst)
        if excess > .zero { return excess }
        if full.count >= Self.maxUsers { full = full.filter { $0.value > now } }
        if full.count < Self.maxUsers || full[key] != nil { full[key] = next }
        return nil
    }
}
