/// Loads of eight or sixteen bytes at a time, where a byte-wise loop would dominate the cost of a scan.
///
/// Uses `unsafe` outside the C wrappers. This is sound, because the bounds are checked before each load or once for all
/// loads of a scan, and every bit pattern is a valid integer. The standard library has no safe operations for this yet.
extension Span<UInt8> {
    /// Returns the eight bytes at an index as a little-endian integer.
    ///
    /// - Parameter index: The index of the first byte; seven more must follow it.
    @inlinable @inline(__always)
    public func word(at index: Int) -> UInt64 {
        unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// Finds the first byte that a mask selects, testing sixteen bytes at a time.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte to test.
    ///   - end: The index after the last byte to test.
    ///   - mask: Selects the matching bytes of a vector.
    /// - Returns: The index of the first selected byte; if no tested byte is selected, the index of the untested rest,
    ///   which has fewer than sixteen bytes.
    @inlinable @inline(__always)
    public func scan(
        from start: Int, to end: Int, for mask: (SIMD16<Int8>) -> SIMDMask<SIMD16<Int8>>
    ) -> Int {
        precondition(start >= 0 && end <= count, "The range must be within the bytes")
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

    /// Finds the first index that a mask selects. The mask receives two bytes per index: the one at the index, and the
    /// one a fixed distance after it. Tests 64 indexes at a time while at least 64 remain.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte to test.
    ///   - end: The index after the last byte to test; at most `count - distance`.
    ///   - distance: The distance to the second byte.
    ///   - mask: Selects indexes. Receives the bytes at the indexes, and those `distance` bytes after them.
    /// - Returns: The first selected index; if no tested index is selected, the start of the untested rest, which has
    ///   fewer than sixteen indexes.
    @inlinable @inline(__always)
    package func scan(
        from start: Int, to end: Int, and distance: Int,
        for mask: (ByteMask.Vector, ByteMask.Vector) -> ByteMask.Found
    ) -> Int {
        precondition(
            start >= 0 && end <= count && distance >= 0 && distance <= count &- end,
            "The range must be within the bytes")
        @inline(__always)
        func found(at index: Int) -> SIMD2<UInt64> {
            let one = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: ByteMask.Vector.self)
            let other = unsafe bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: index &+ distance, as: ByteMask.Vector.self)
            return unsafe unsafeBitCast(mask(one, other), to: SIMD2<UInt64>.self)
        }
        var index = start
        while index &+ 64 <= end {
            let any =
                (found(at: index) | found(at: index &+ 16)) | (found(at: index &+ 32) | found(at: index &+ 48))
            if any[0] | any[1] != 0 { break }
            index &+= 64
        }
        while index &+ 16 <= end {
            let words = found(at: index)
            let (low, high) = (UInt64(littleEndian: words[0]), UInt64(littleEndian: words[1]))
            if low != 0 { return index &+ low.trailingZeroBitCount >> 3 }
            if high != 0 { return index &+ 8 &+ high.trailingZeroBitCount >> 3 }
            index &+= 16
        }
        return index
    }

    /// Tests a window of sixteen indexes and returns those that a mask selects.
    ///
    /// - Parameters:
    ///   - index: The index of the first byte; at least 28 bytes must follow it.
    ///   - mask: Selects indexes. Receives the bytes at the indexes, and those 1, 2, 3, 10 and 13 bytes after them. It
    ///     must select each index whose next byte is not ASCII.
    ///   - exact: Replaces `mask` if the next byte of any index is not ASCII. It need not select such indexes.
    /// - Returns: Two integers for eight indexes each, the first index in the lowest byte. The lowest bit of a byte is
    ///   set if its index was selected.
    @inlinable @inline(__always)
    package func window(
        at index: Int,
        for mask: (
            ByteMask.Vector, ByteMask.Vector, ByteMask.Vector, ByteMask.Vector, ByteMask.Vector, ByteMask.Vector
        ) -> ByteMask.Found,
        exact: (
            ByteMask.Vector, ByteMask.Vector, ByteMask.Vector, ByteMask.Vector, ByteMask.Vector, ByteMask.Vector
        ) -> ByteMask.Found
    ) -> (UInt64, UInt64) {
        precondition(index >= 0 && index <= count &- 29, "The window must be within the bytes")
        @inline(__always)
        func vector(_ index: Int) -> ByteMask.Vector {
            unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: ByteMask.Vector.self)
        }
        let (b0, b1, b2, b3) = (vector(index), vector(index &+ 1), vector(index &+ 2), vector(index &+ 3))
        let (b10, b13) = (vector(index &+ 10), vector(index &+ 13))
        var words = unsafe unsafeBitCast(mask(b0, b1, b2, b3, b10, b13), to: SIMD2<UInt64>.self)
        if words[0] | words[1] == 0 { return (0, 0) }
        let signs = unsafe unsafeBitCast(b1, to: SIMD2<UInt64>.self)
        if (signs[0] | signs[1]) & 0x8080_8080_8080_8080 != 0 {
            words = unsafe unsafeBitCast(exact(b0, b1, b2, b3, b10, b13), to: SIMD2<UInt64>.self)
        }
        let bits: UInt64 = 0x0101_0101_0101_0101
        return (UInt64(littleEndian: words[0]) & bits, UInt64(littleEndian: words[1]) & bits)
    }

    /// Skips bytes that are not zero, 64 at a time, for long runs.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte to test.
    ///   - end: The index after the last byte to test.
    /// - Returns: An index before which no byte is zero. The byte at the index need not be zero.
    @inlinable @inline(__always)
    public func skipNonzero(from start: Int, to end: Int) -> Int {
        precondition(start >= 0 && end <= count, "The range must be within the bytes")
        var index = start
        while index &+ 64 <= end {
            var found = SIMDMask<SIMD16<Int8>>(repeating: false)
            for part in 0..<4 {
                let vector = unsafe bytes.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: index &+ 16 &* part, as: SIMD16<Int8>.self)
                found = found .| ByteMask.zeros(in: vector)
            }
            let words = unsafe unsafeBitCast(found, to: SIMD2<UInt64>.self)
            if words[0] | words[1] != 0 { break }
            index &+= 64
        }
        return index
    }

    /// Passes a range of bytes to `body`, two 64-bit integers at a time.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte.
    ///   - end: The index after the last byte.
    ///   - body: Receives two little-endian integers.
    /// - Returns: The index of the first byte that was not passed. Fewer than sixteen bytes remain.
    @inlinable @inline(__always)
    public func forEachPair(from start: Int, to end: Int, _ body: (UInt64, UInt64) -> Void) -> Int {
        precondition(start >= 0 && end <= count, "The range must be within the bytes")
        var index = start
        while index &+ 16 <= end {
            let pair = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: SIMD2<UInt64>.self)
            body(UInt64(littleEndian: pair[0]), UInt64(littleEndian: pair[1]))
            index &+= 16
        }
        return index
    }

    /// Passes a range of bytes to `body`, two 64-bit integers at a time, up to the first byte that a mask selects. In
    /// the pair that contains this byte, it and all later bytes are replaced with zero.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte.
    ///   - end: The index after the last byte.
    ///   - mask: Selects the bytes that stop the scan.
    ///   - body: Receives two little-endian integers. It does not receive the last bytes if fewer than sixteen remain.
    @inlinable @inline(__always)
    public func forEachPair(
        from start: Int, to end: Int, until mask: (SIMD16<Int8>) -> SIMDMask<SIMD16<Int8>>,
        _ body: (UInt64, UInt64) -> Void
    ) {
        precondition(start >= 0 && end <= count, "The range must be within the bytes")
        var index = start
        while index &+ 16 <= end {
            let vector = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: SIMD16<Int8>.self)
            let found = unsafe unsafeBitCast(mask(vector), to: SIMD2<UInt64>.self)
            let pair = unsafe unsafeBitCast(vector, to: SIMD2<UInt64>.self)
            let (low, high) = (UInt64(littleEndian: pair[0]), UInt64(littleEndian: pair[1]))
            let (lowFound, highFound) = (UInt64(littleEndian: found[0]), UInt64(littleEndian: found[1]))
            guard lowFound | highFound == 0 else {
                // Keeps the bits below the lowest bit that is set in the mask.
                guard lowFound == 0 else { return body(low & ((lowFound & (0 &- lowFound)) &- 1), 0) }
                return body(low, high & ((highFound & (0 &- highFound)) &- 1))
            }
            body(low, high)
            index &+= 16
        }
    }

    /// Returns `true` if two ranges of bytes are equal.
    ///
    /// - Parameters:
    ///   - start: The start of the range in these bytes.
    ///   - other: The bytes to compare with.
    ///   - otherStart: The start of the range in `other`.
    ///   - length: The length of both ranges.
    /// - Returns: `true` if the ranges are equal.
    @inlinable @inline(__always)
    public func equals(from start: Int, _ other: Span<UInt8>, from otherStart: Int, count length: Int) -> Bool {
        precondition(
            start >= 0 && otherStart >= 0 && length >= 0 && start <= count &- length
                && otherStart <= other.count &- length, "The ranges must be within the bytes")
        guard length >= 16 else {
            guard length >= 8 else {
                for offset in 0..<length where self[start &+ offset] != other[otherStart &+ offset] { return false }
                return true
            }
            // The words overlap, because the length is less than sixteen.
            let last = length &- 8
            return word(at: start) == other.word(at: otherStart)
                && word(at: start &+ last) == other.word(at: otherStart &+ last)
        }
        // If the length is not a multiple of sixteen, the last vector overlaps the one before it.
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

/// Tests that apply to all bytes of an integer or vector at once.
public enum ByteMask {
    /// Sixteen bytes. Bytes that are not ASCII are negative here.
    public typealias Vector = SIMD16<Int8>
    /// The selected bytes of a vector.
    public typealias Found = SIMDMask<SIMD16<Int8>>

    /// Returns an integer with the high bit set in each byte that is zero in `word`. Bytes above the first match may be
    /// false positives.
    ///
    /// - Parameter word: The bytes to test.
    /// - Returns: The mask.
    @inlinable @inline(__always)
    public static func zeros(in word: UInt64) -> UInt64 {
        (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
    }

    /// Returns an integer with the high bit set in each byte that ends the plain part of a JSON string: a quotation
    /// mark, a backslash, a control character, or a byte that is not ASCII. Bytes above the first match may be false
    /// positives.
    ///
    /// - Parameter word: The bytes to test.
    /// - Returns: The mask.
    @inlinable @inline(__always)
    public static func stringStops(in word: UInt64) -> UInt64 {
        let quotes = zeros(in: word ^ 0x2222_2222_2222_2222)
        let backslashes = zeros(in: word ^ 0x5C5C_5C5C_5C5C_5C5C)
        let controls = (word &- 0x2020_2020_2020_2020) & ~word & 0x8080_8080_8080_8080
        return quotes | backslashes | controls | (word & 0x8080_8080_8080_8080)
    }

    /// Selects the bytes that end the plain part of a JSON string.
    ///
    /// - Parameter bytes: The bytes to test.
    /// - Returns: The selected bytes.
    @inlinable @inline(__always)
    public static func stringStops(in bytes: Vector) -> Found {
        // Bytes that are not ASCII are negative, so they are selected as well.
        (bytes .== of("\"")) .| (bytes .== of("\\")) .| (bytes .< of(" "))
    }

    /// Selects the bytes that must be escaped in a JSON string.
    @inlinable @inline(__always)
    static func escapes(in bytes: Vector) -> Found {
        let controls = (bytes .>= Vector(repeating: 0)) .& (bytes .< of(" "))
        return (bytes .== of("\"")) .| (bytes .== of("\\")) .| controls
    }

    /// Selects the bytes that are zero.
    ///
    /// - Parameter bytes: The bytes to test.
    /// - Returns: The selected bytes.
    @inlinable @inline(__always)
    public static func zeros(in bytes: Vector) -> Found {
        bytes .== Vector(repeating: 0)
    }

    /// Returns a vector that repeats one byte, for comparisons.
    ///
    /// - Parameter scalar: An ASCII character.
    /// - Returns: The vector.
    @inlinable @inline(__always)
    public static func of(_ scalar: Unicode.Scalar) -> Vector {
        Vector(repeating: Int8(bitPattern: UInt8(ascii: scalar)))
    }
}
