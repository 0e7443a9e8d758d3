/// A part of a batch's bytes, in eight bytes of its own.
public struct ByteRange: Equatable, Sendable {
    public var start: UInt32
    public var count: UInt32

    public static let empty = ByteRange(start: 0, count: 0)

    @inlinable @inline(__always)
    public init(start: UInt32, count: UInt32) {
        self.start = start
        self.count = count
    }

    @inlinable @inline(__always)
    public init(from start: Int, to end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: end &- start)
    }

    @inlinable @inline(__always)
    public var lower: Int { Int(start) }

    @inlinable @inline(__always)
    public var upper: Int { Int(start) + Int(count) }

    @inlinable @inline(__always)
    public var isEmpty: Bool { count == 0 }
}
