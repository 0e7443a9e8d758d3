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
