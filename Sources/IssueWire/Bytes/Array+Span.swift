// Copies of whole runs of bytes, where one at a time would cost most of the time of decoding a record. With
// `WordLoading.swift` and `ByteBuffer.swift` one of the places outside the seams to C that say `unsafe`: the bounds are
// checked before each copy.
extension [UInt8] {
    /// Appends a part of some bytes.
    @inlinable @inline(__always)
    package mutating func append(contentsOf bytes: Span<UInt8>, from start: Int, to end: Int) {
        precondition(start >= 0 && start <= end && end <= bytes.count, "A part of bytes lies within them")
        reserveRoom(for: end &- start)
        unsafe bytes.withUnsafeBufferPointer { source in
            unsafe append(contentsOf: UnsafeBufferPointer(rebasing: source[start..<end]))
        }
    }

    /// Makes room for more without losing the doubling that keeps appending cheap.
    @inlinable @inline(__always)
    package mutating func reserveRoom(for more: Int) {
        if capacity - count < more {
            reserveCapacity(Swift.max(count + more, 2 * capacity))
        }
    }
}
