/// What a destination starts with.
package enum Backlog: String, CaseIterable, Hashable, Sendable {
    /// With what comes after it was configured.
    case new
    /// With what the store holds already.
    case all
}
