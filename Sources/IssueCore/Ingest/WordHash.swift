import IssueProtocol

/// A quick hash of bytes for tables in memory, seeded so that nobody outside can aim at one of its chains.
///
/// Multiply and fold, eight bytes at a time. Never stored: what is stored is
/// hashed by `SipHash`.
package struct WordHash: Sendable {
    private let seed: UInt64

    package init(seed: UInt64) {
        self.seed = seed | 1
    }

    @inline(__always)
    package func callAsFunction(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> UInt64 {
        // Two of them side by side, since each multiplication waits for the one before it.
        var first = seed ^ UInt64(truncatingIfNeeded: end &- start)
        var second = seed &* 0xA076_1D64_78BD_642F
        var index = bytes.forEachPair(from: start, to: end) {
            first = Self.fold(first ^ $0, 0x9E37_79B9_7F4A_7C15)
            second = Self.fold(second ^ $1, 0xE703_7ED1_A0B4_28DB)
        }
        if index &+ 8 <= end {
            first = Self.fold(first ^ bytes.word(at: index), 0x9E37_79B9_7F4A_7C15)
            index &+= 8
        }
        var rest: UInt64 = 0
        while index < end {
            rest = rest << 8 | UInt64(bytes[index])
            index &+= 1
        }
        return Self.fold(first ^ rest, second ^ 0xD6E8_FEB8_6659_FD93)
    }

    @inline(__always)
    package static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
