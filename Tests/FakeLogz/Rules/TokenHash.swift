/// Identifies a token without revealing it.
enum TokenHash {
    /// Returns the first eight digits of the token's FNV-1a hash.
    static func prefix(of token: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in token.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String((String(repeating: "0", count: 16 - digits.count) + digits).prefix(8))
    }
}
