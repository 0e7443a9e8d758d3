/// Where a string's contents lie between its quotation marks, already known to be well-formed.
package struct JSONText: Equatable, Sendable {
    package var start: Int
    package var end: Int
    package var hasEscapes: Bool

    @inlinable @inline(__always)
    package init(start: Int, end: Int, hasEscapes: Bool) {
        self.start = start
        self.end = end
        self.hasEscapes = hasEscapes
    }

    /// The number of bytes, escapes as they were written.
    @inlinable @inline(__always)
    package var count: Int { end - start }
}
