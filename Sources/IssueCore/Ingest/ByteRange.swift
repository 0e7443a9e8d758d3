/// A part of a batch's bytes, in eight bytes of its own.
package struct ByteRange: Equatable, Sendable {
    package var start: UInt32
    package var count: UInt32

    package static let empty = ByteRange(start: 0, count: 0)

    @inlinable @inline(__always)
    package init(start: UInt32, count: UInt32) {
        self.start = start
        self.count = count
    }

    @inlinable @inline(__always)
    package init(from start: Int, to end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: end &- start)
    }

    @inlinable @inline(__always)
    package var lower: Int { Int(start) }

    @inlinable @inline(__always)
    package var upper: Int { Int(start) + Int(count) }

    @inlinable @inline(__always)
    package var isEmpty: Bool { count == 0 }
}
