package import IssueWire

/// The sums of all fates of one destination, in records; it balances at every instant.
package struct Ledger: Equatable, Sendable {
    package var received: Int64 = 0
    package var pending: Int64 = 0
    package var delivered: Int64 = 0
    package var summarised: Int64 = 0
    package var deadLettered: Int64 = 0
    package var withheld: Int64 = 0
    package var expired: Int64 = 0
    package var unconfirmed: Int64 = 0

    package init() {}

    /// Whether every record received has exactly one fate.
    package var balances: Bool {
        received == pending + delivered + summarised + deadLettered + withheld + expired + unconfirmed
    }

    package subscript(fate: Fate) -> Int64 {
        get {
            switch fate {
            case .pending: pending
            case .delivered: delivered
            case .summarised: summarised
            case .deadLettered: deadLettered
            case .withheld: withheld
            case .expired: expired
            case .unconfirmed: unconfirmed
            }
        }
        set {
            switch fate {
            case .pending: pending = newValue
            case .delivered: delivered = newValue
            case .summarised: summarised = newValue
            case .deadLettered: deadLettered = newValue
            case .withheld: withheld = newValue
            case .expired: expired = newValue
            case .unconfirmed: unconfirmed = newValue
            }
        }
    }
}
