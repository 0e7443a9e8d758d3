/// A part of a batch's bytes, in eight bytes of its own.
public struct ByteRange: Equatable, Sendable {
    /// The index of the first byte, as it is kept.
    public var start: UInt32
    /// How many bytes it is.
    public var count: UInt32

    /// No bytes.
    public static let empty = ByteRange(start: 0, count: 0)

    /// So many bytes from an index on.
    @inlinable @inline(__always)
    public init(start: UInt32, count: UInt32) {
        self.start = start
        self.count = count
    }

    /// The bytes from one index to before another.
    @inlinable @inline(__always)
    public init(from start: Int, to end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: end &- start)
    }

    /// The index of the first byte.
    @inlinable @inline(__always)
    public var lower: Int { Int(start) }

    /// The index behind the last byte.
    @inlinable @inline(__always)
    public var upper: Int { Int(start) + Int(count) }

    /// Whether it is no bytes.
    @inlinable @inline(__always)
    public var isEmpty: Bool { count == 0 }
}
