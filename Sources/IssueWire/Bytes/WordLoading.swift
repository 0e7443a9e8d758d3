/// Eight bytes at once, or sixteen, where looking at each alone would cost most of the time of a scan.
///
/// One of the few places outside the seams to C that say `unsafe`: bounds are checked before each load, or once for
/// all loads of a scan, and any bytes are a valid integer; the standard library has no spelling of that yet that is
/// marked safe.
extension Span<UInt8> {
    /// The eight bytes from an index on, the first of them lowest.
    @inlinable @inline(__always)
    public func word(at index: Int) -> UInt64 {
        unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// Where the first byte stands that a mask finds, looking at sixteen bytes at a time; where fewer than those are
    /// left before the end, the first of what is left.
    @inlinable @inline(__always)
    public func scan(
        from start: Int, to end: Int, for mask: (SIMD16<Int8>) -> SIMDMask<SIMD16<Int8>>
    ) -> Int {
        precondition(start >= 0 && end <= count, "Bytes are scanned that are there")
        var index = start
        while index &+ 16 <= end {
            let vector = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: SIMD16<Int8>.self)
            let found = unsafe unsafeBitCast(mask(vector), to: SIMD2<UInt64>.self)
            let (low, high) = (UInt64(littleEndian: found[0]), UInt64(littleEndian: found[1]))
            if low != 0 { return index &+ low.trailingZeroBitCount >> 3 }
            if high != 0 { return index &+ 8 &+ high.trailingZeroBitCount >> 3 }
            index &+= 16
        }
        return index
    }

    /// Where the next zero may stand: no byte before it is one. For long runs, sixty-four bytes at a time.
    @inlinable @inline(__always)
    public func passNonzero(from start: Int, to end: Int) -> Int {
        precondition(start >= 0 && end <= count, "Bytes are scanned that are there")
        var index = start
        while index &+ 64 <= end {
            var found = SIMDMask<SIMD16<Int8>>(repeating: false)
            for place in 0..<4 {
                let vector = unsafe bytes.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: index &+ 16 &* place, as: SIMD16<Int8>.self)
                found = found .| ByteMask.zeros(in: vector)
            }
            let words = unsafe unsafeBitCast(found, to: SIMD2<UInt64>.self)
            if words[0] | words[1] != 0 { break }
            index &+= 64
        }
        return index
    }

    /// Gives two words at a time of the bytes from an index on, and answers where fewer than those are left.
    @inlinable @inline(__always)
    public func forEachPair(from start: Int, to end: Int, _ body: (UInt64, UInt64) -> Void) -> Int {
        precondition(start >= 0 && end <= count, "Bytes are read that are there")
        var index = start
        while index &+ 16 <= end {
            let pair = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: SIMD2<UInt64>.self)
            body(UInt64(littleEndian: pair[0]), UInt64(littleEndian: pair[1]))
            index &+= 16
        }
        return index
    }

    /// Gives two words at a time of the bytes from an index on, up to the first byte that a mask finds; of those that
    /// have it, what stands before it. Answers where that byte is, or nothing where fewer than two words are left.
    @inlinable @inline(__always)
    public func forEachPair(
        from start: Int, to end: Int, until mask: (SIMD16<Int8>) -> SIMDMask<SIMD16<Int8>>,
        _ body: (UInt64, UInt64) -> Void
    ) -> Int? {
        precondition(start >= 0 && end <= count, "Bytes are read that are there")
        var index = start
        while index &+ 16 <= end {
            let vector = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: SIMD16<Int8>.self)
            let found = unsafe unsafeBitCast(mask(vector), to: SIMD2<UInt64>.self)
            let pair = unsafe unsafeBitCast(vector, to: SIMD2<UInt64>.self)
            let (low, high) = (UInt64(littleEndian: pair[0]), UInt64(littleEndian: pair[1]))
            let (lowFound, highFound) = (UInt64(littleEndian: found[0]), UInt64(littleEndian: found[1]))
            guard lowFound | highFound == 0 else {
                // Below the lowest bit that is set.
                guard lowFound == 0 else {
                    body(low & ((lowFound & (0 &- lowFound)) &- 1), 0)
                    return index &+ lowFound.trailingZeroBitCount >> 3
                }
                body(low, high & ((highFound & (0 &- highFound)) &- 1))
                return index &+ 8 &+ highFound.trailingZeroBitCount >> 3
            }
            body(low, high)
            index &+= 16
        }
        return nil
    }

    /// Whether so many bytes from an index on are those of other bytes from an index on.
    @inlinable @inline(__always)
    public func equals(from start: Int, _ other: Span<UInt8>, from otherStart: Int, count length: Int) -> Bool {
        precondition(
            start >= 0 && otherStart >= 0 && length >= 0 && start <= count &- length
                && otherStart <= other.count &- length, "Bytes are compared that are there")
        guard length >= 16 else {
            for offset in 0..<length where self[start &+ offset] != other[otherStart &+ offset] { return false }
            return true
        }
        // The last of them begins before the end of the one before it, where the length is no multiple.
        var offset = 0
        while true {
            let ours = unsafe bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: start &+ offset, as: SIMD2<UInt64>.self)
            let theirs = unsafe other.bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: otherStart &+ offset, as: SIMD2<UInt64>.self)
            let difference = ours ^ theirs
            guard difference[0] | difference[1] == 0 else { return false }
            if offset &+ 16 == length { return true }
            offset = min(offset &+ 16, length &- 16)
        }
    }
}

/// Tests on all bytes of a word or of a vector at once.
public enum ByteMask {
    /// Sixteen bytes; what is not ASCII is below nothing among them.
    public typealias Vector = SIMD16<Int8>
    /// Which of them were looked for.
    public typealias Found = SIMDMask<SIMD16<Int8>>

    /// The high bit of each byte that is zero; above the first such byte there may be false ones.
    @inlinable @inline(__always)
    public static func zeros(in word: UInt64) -> UInt64 {
        (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
    }

    /// The high bit of each byte that ends the plain part of a JSON string: a quotation mark, a backslash, a control
    /// character, or the start of something that is not ASCII; above the first such byte there may be false ones.
    @inlinable @inline(__always)
    public static func stringStops(in word: UInt64) -> UInt64 {
        let quotes = zeros(in: word ^ 0x2222_2222_2222_2222)
        let backslashes = zeros(in: word ^ 0x5C5C_5C5C_5C5C_5C5C)
        let controls = (word &- 0x2020_2020_2020_2020) & ~word & 0x8080_8080_8080_8080
        return quotes | backslashes | controls | (word & 0x8080_8080_8080_8080)
    }

    /// The bytes that end the plain part of a JSON string.
    @inlinable @inline(__always)
    public static func stringStops(in bytes: Vector) -> Found {
        // What is not ASCII is below nothing here.
        (bytes .== of("\"")) .| (bytes .== of("\\")) .| (bytes .< of(" "))
    }

    /// The bytes that can't stand in a JSON string as they are.
    @inlinable @inline(__always)
    static func escapes(in bytes: Vector) -> Found {
        let controls = (bytes .>= Vector(repeating: 0)) .& (bytes .< of(" "))
        return (bytes .== of("\"")) .| (bytes .== of("\\")) .| controls
    }

    /// The bytes that are zero.
    @inlinable @inline(__always)
    public static func zeros(in bytes: Vector) -> Found {
        bytes .== Vector(repeating: 0)
    }

    /// One byte, wherever it is compared with.
    @inlinable @inline(__always)
    public static func of(_ scalar: Unicode.Scalar) -> Vector {
        Vector(repeating: Int8(bitPattern: UInt8(ascii: scalar)))
    }
}

/// Well-formed UTF-8 as table 3-7 of the Unicode standard has it: no surrogates, nothing overlong, nothing above
/// U+10FFFF.
package enum UTF8Validation {
    /// How many bytes the sequence at an index that starts with a byte above 0x7F takes, or nothing when it is
    /// malformed or cut off.
    package static func sequenceLength(in bytes: Span<UInt8>, at index: Int) -> Int? {
        let first = bytes[index]
        let length: Int
        var low: UInt8 = 0x80
        var high: UInt8 = 0xBF
        switch first {
        case 0xC2...0xDF: length = 2
        case 0xE0:
            length = 3
            low = 0xA0
        case 0xED:
            length = 3
            high = 0x9F
        case 0xE1...0xEF: length = 3
        case 0xF0:
            length = 4
            low = 0x90
        case 0xF1...0xF3: length = 4
        case 0xF4:
            length = 4
            high = 0x8F
        default: return nil
        }
        guard index + length <= bytes.count, bytes[index + 1] >= low, bytes[index + 1] <= high else { return nil }
        for next in (index + 2)..<max(index + length, index + 2) where bytes[next] & 0xC0 != 0x80 { return nil }
        return length
    }

    /// Whether all of the bytes are well-formed.
    package static func holds(for bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count {
            if bytes[index] < 0x80 {
                index += 1
            } else if let length = sequenceLength(in: bytes, at: index) {
                index += length
            } else {
                return false
            }
        }
        return true
    }
}
