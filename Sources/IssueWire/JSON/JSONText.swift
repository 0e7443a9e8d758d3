/// Where a string's contents lie between its quotation marks, already known to be well-formed.
///
/// Eight bytes, since a record is read as a dozen of them: the highest bit of
/// the end says whether there are escapes. Bytes that are scanned are fewer
/// than 2 GiB.
public struct JSONText: Equatable, Sendable {
    @usableFromInline let lower: UInt32
    @usableFromInline let upper: UInt32

    /// The text between two indexes.
    @inlinable @inline(__always)
    public init(start: Int, end: Int, hasEscapes: Bool) {
        lower = UInt32(truncatingIfNeeded: start)
        upper = UInt32(truncatingIfNeeded: end) | (hasEscapes ? 0x8000_0000 : 0)
    }

    /// The index of its first byte.
    @inlinable @inline(__always)
    public var start: Int { Int(lower) }

    /// The index behind its last byte.
    @inlinable @inline(__always)
    public var end: Int { Int(upper & 0x7FFF_FFFF) }

    /// Whether it is written with escapes, which its reader resolves.
    @inlinable @inline(__always)
    public var hasEscapes: Bool { upper >> 31 != 0 }

    /// The number of bytes, escapes as they were written.
    @inlinable @inline(__always)
    public var count: Int { end &- start }
}
