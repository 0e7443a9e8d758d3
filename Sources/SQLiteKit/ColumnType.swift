/// How SQLite stores a value.
package enum ColumnType: Sendable {
    case integer
    case real
    case text
    case blob
    case null
}
