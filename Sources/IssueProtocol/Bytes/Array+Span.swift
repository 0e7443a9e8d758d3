extension [UInt8] {
    /// Appends a part of some bytes.
    @inlinable @inline(__always)
    package mutating func append(contentsOf bytes: Span<UInt8>, from start: Int, to end: Int) {
        reserveRoom(for: end - start)
        var index = start
        while index < end {
            append(bytes[index])
            index += 1
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
