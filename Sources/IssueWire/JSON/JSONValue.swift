/// Any JSON value, members in the order in which they came.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number that is no 64-bit integer, in the spelling in which it came, so that nothing of it is lost.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// One key with its value.
    package struct Member: Hashable, Sendable {
        package var key: String
        package var value: JSONValue

        package init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }
}
