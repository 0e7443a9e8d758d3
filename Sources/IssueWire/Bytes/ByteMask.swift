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
