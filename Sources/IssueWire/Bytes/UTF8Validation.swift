/// Well-formed UTF-8 as table 3-7 of the Unicode standard has it: no surrogates, nothing overlong, nothing above
/// U+10FFFF.
package enum UTF8Validation {
    /// How many bytes the sequence at an index that starts with a byte above 0x7F takes, or nothing when it is malformed
    /// or cut off.
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
