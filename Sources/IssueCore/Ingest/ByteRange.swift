/// A range of bytes in a batch, stored in eight bytes.
public struct ByteRange: Equatable, Sendable {
    /// The index of the first byte, as stored.
    public var start: UInt32
    /// The number of bytes.
    public var count: UInt32

    /// An empty range.
    public static let empty = ByteRange(start: 0, count: 0)

    /// Creates a range.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte.
    ///   - count: The number of bytes.
    @inlinable @inline(__always)
    public init(start: UInt32, count: UInt32) {
        self.start = start
        self.count = count
    }

    /// Creates a range from two indexes.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte.
    ///   - end: The index after the last byte.
    @inlinable @inline(__always)
    public init(from start: Int, to end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: end &- start)
    }

    /// The index of the first byte.
    @inlinable @inline(__always)
    public var lower: Int { Int(start) }

    /// The index after the last byte.
    @inlinable @inline(__always)
    public var upper: Int { Int(start) + Int(count) }

    /// `true` if the range contains no bytes.
    @inlinable @inline(__always)
    public var isEmpty: Bool { count == 0 }
}
