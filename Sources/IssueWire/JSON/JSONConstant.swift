/// One of the words that stand for a value, as the bytes that are compared at once.
struct JSONConstant {
    /// The letters, the first of them lowest.
    let letters: UInt64
    let count: Int

    static let `true` = JSONConstant(letters: 0x6575_7274, count: 4)
    static let `false` = JSONConstant(letters: 0x65_736C_6166, count: 5)
    static let null = JSONConstant(letters: 0x6C6C_756E, count: 4)

    @inline(__always)
    var mask: UInt64 { (1 << UInt64(8 * count)) - 1 }
}
