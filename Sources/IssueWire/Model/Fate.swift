/// What became of a record for one destination.
package enum Fate: UInt8, CaseIterable, Hashable, Sendable {
    case pending
    case delivered
    case summarised
    case deadLettered
    case withheld
    case expired
    case unconfirmed

    /// The word that stands for it on the wire and in tables.
    package var name: String {
        switch self {
        case .pending: "pending"
        case .delivered: "delivered"
        case .summarised: "summarised"
        case .deadLettered: "dead_lettered"
        case .withheld: "withheld"
        case .expired: "expired"
        case .unconfirmed: "unconfirmed"
        }
    }

    /// The fate that a word of the wire means, or nothing.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}
