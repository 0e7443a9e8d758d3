/// Who numbers its records: the UUID of one run of a client.
package struct ProducerID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads a UUID as RFC 9562 writes it, in either case, or answers nothing.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return nil }
        var words: [UInt64] = [0, 0]
        var digits = 0
        for (index, byte) in bytes.enumerated() {
            switch index {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
            default:
                guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
                words[digits / 16] = words[digits / 16] << 4 | UInt64(digit)
                digits += 1
            }
        }
        high = words[0]
        low = words[1]
    }

    /// The sixteen bytes, the highest first.
    package var bytes: [UInt8] {
        [high, low].flatMap { word in (0..<8).reversed().map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
    }
}
