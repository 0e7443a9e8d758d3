/// The ids of a series in a range, as differences in integers of variable length: one or two bytes an id.
///
/// Each number is cut into groups of seven bits, the lowest first; all but the
/// last byte of a number have the high bit set (LEB128).
package enum PostingList {
    /// Appends a number.
    @inlinable @inline(__always)
    package static func append(_ number: UInt64, to output: inout [UInt8]) {
        var rest = number
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Reads the number at an index and moves the index past it, or nothing when the bytes end or it exceeds 64 bits.
    package static func number(in bytes: Span<UInt8>, at index: inout Int) -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while index < bytes.count, shift < 64 {
            let byte = bytes[index]
            index += 1
            // The tenth byte has room for one bit.
            guard shift < 63 || byte <= 1 else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }

    /// Ascending ids as bytes.
    package static func encode(_ ids: some Sequence<Int64>, base: Int64) -> [UInt8] {
        var output: [UInt8] = []
        var previous = base
        for id in ids {
            append(UInt64(bitPattern: id &- previous), to: &output)
            previous = id
        }
        return output
    }

    /// The ids that bytes stand for, or nothing when they are damaged.
    package static func decode(_ bytes: [UInt8], base: Int64) -> [Int64]? {
        decode(bytes.span, base: base)
    }

    /// The ids that bytes stand for, or nothing when they are damaged.
    package static func decode(_ bytes: Span<UInt8>, base: Int64) -> [Int64]? {
        var ids: [Int64] = []
        // Most take one byte.
        ids.reserveCapacity(bytes.count)
        var index = 0
        var previous = base
        while index < bytes.count {
            guard let difference = number(in: bytes, at: &index) else { return nil }
            previous &+= Int64(bitPattern: difference)
            ids.append(previous)
        }
        return ids
    }
}
