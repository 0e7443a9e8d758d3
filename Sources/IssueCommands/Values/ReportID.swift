/// Derives a producer's id from a key that the user chose.
package enum ReportID {
    /// Returns the key itself if it is a UUID, otherwise a UUID derived from it.
    package static func producer(for key: String) -> String {
        let lowercase = key.lowercased()
        return isUUID(lowercase) ? lowercase : uuid(FNV1a.hash(key.utf8))
    }

    private static func isUUID(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return false }
        return bytes.enumerated().allSatisfy { index, byte in
            switch index {
            case 8, 13, 18, 23: byte == UInt8(ascii: "-")
            case _:
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
        }
    }

    /// Returns a UUID of version 8, which leaves its bits to the application (RFC 9562, 5.8).
    private static func uuid(_ bits: UInt128) -> String {
        let version: UInt128 = 0xF << 76
        let variant: UInt128 = 0x3 << 62
        var marked = bits & ~version & ~variant
        marked |= UInt128(0x8) << 76
        marked |= UInt128(0x2) << 62
        let digits = String(marked, radix: 16)
        let padded = Array(String(repeating: "0", count: 32 - digits.count) + digits)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(padded[$0]) }.joined(separator: "-")
    }
}

/// The hash FNV-1a with 128 bits: draft-eastlake-fnv.
///
/// It is not collision-resistant, but a user who makes two keys collide harms only themselves.
private enum FNV1a {
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt128 {
        let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013B
        var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
        for byte in bytes { hash = (hash ^ UInt128(byte)) &* prime }
        return hash
    }
}
