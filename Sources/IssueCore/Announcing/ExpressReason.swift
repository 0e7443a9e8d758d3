/// Why a record goes before the backlog, and operators are told of it.
package enum ExpressReason: Int64, CaseIterable, Hashable, Sendable {
    case critical = 1
    case firstOfGroup
    /// What was resolved has come back with it.
    case regression
}
