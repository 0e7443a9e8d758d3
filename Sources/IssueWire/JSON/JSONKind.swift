/// Which kind of value begins at a byte.
package enum JSONKind: Equatable, Sendable {
    case null
    case bool
    case number
    case string
    case array
    case object
}
