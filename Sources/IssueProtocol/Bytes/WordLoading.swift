/// Eight bytes at once, where looking at each alone would cost most of the time of a scan.
///
/// One of the three places outside the seams to C that say `unsafe`: the standard
/// library checks the bounds of this load, and any eight bytes are a valid
/// integer, but it has no spelling of it yet that is marked safe.
extension Span<UInt8> {
    /// The eight bytes from an index on, the first of them lowest.
    @inlinable @inline(__always)
    public func word(at index: Int) -> UInt64 {
        unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
    }
}

extension Span<UInt8> {
    /// The sixteen bytes from an index on.
    @inlinable @inline(__always)
    public func vector(at index: Int) -> SIMD16<UInt8> {
        unsafe bytes.unsafeLoadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)
    }
}

/// Tests on all eight bytes of a word at once.
public enum ByteMask {

    /// The high bit of each byte that is zero; above the first such byte there may be false ones.
    @inlinable @inline(__always)
    public static func zeros(in word: UInt64) -> UInt64 {
        (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
    }

    /// The high bit of each byte that is no letter of ASCII.
    @inlinable @inline(__always)
    public static func others(thanLettersIn word: UInt64) -> UInt64 {
        let small = (word | 0x2020_2020_2020_2020) & 0x7F7F_7F7F_7F7F_7F7F
        let fromA = small &+ 0x1F1F_1F1F_1F1F_1F1F
        let behindZ = small &+ 0x0505_0505_0505_0505
        return ~(fromA & ~behindZ & ~word) & 0x8080_8080_8080_8080
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
}
