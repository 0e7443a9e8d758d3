/// SipHash-2-4 (Aumasson and Bernstein, 2012): the hash that is stored and that is the same on every host.
package struct SipHash: Sendable {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    private var pending: UInt64 = 0
    private var pendingCount = 0
    private var count: UInt64 = 0

    package init(key0: UInt64 = 0, key1: UInt64 = 0) {
        v0 = key0 ^ 0x736F_6D65_7073_6575
        v1 = key1 ^ 0x646F_7261_6E64_6F6D
        v2 = key0 ^ 0x6C79_6765_6E65_7261
        v3 = key1 ^ 0x7465_6462_7974_6573
    }

    package mutating func append(_ byte: UInt8) {
        pending |= UInt64(byte) << UInt64(8 * pendingCount)
        pendingCount += 1
        count &+= 1
        if pendingCount == 8 { compress() }
    }

    package mutating func append(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { append(byte) }
    }

    /// The generic form is not specialised for other modules, and takes ten
    /// times as long there.
    package mutating func append(_ bytes: [UInt8]) {
        for byte in bytes { append(byte) }
    }

    /// Adds a number as eight bytes, the lowest first.
    package mutating func append(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { append(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }

    /// Adds a text with its length, so that two texts in a row can't be read as another two; absent differs from empty.
    package mutating func append(field: String?) {
        guard let field else { return append(UInt64.max) }
        append(UInt64(field.utf8.count))
        append(field.utf8)
    }

    package consuming func finish() -> UInt64 {
        pending |= count << 56
        compress()
        v2 ^= 0xFF
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func compress() {
        v3 ^= pending
        round()
        round()
        v0 ^= pending
        pending = 0
        pendingCount = 0
    }

    private mutating func round() {
        v0 &+= v1
        v1 = Self.rotate(v1, 13) ^ v0
        v0 = Self.rotate(v0, 32)
        v2 &+= v3
        v3 = Self.rotate(v3, 16) ^ v2
        v0 &+= v3
        v3 = Self.rotate(v3, 21) ^ v0
        v2 &+= v1
        v1 = Self.rotate(v1, 17) ^ v2
        v2 = Self.rotate(v2, 32)
    }

    private static func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 {
        word << bits | word >> (64 - bits)
    }
}
