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
        self.init(bytes.span, from: 0, to: bytes.count)
    }

    /// Reads a UUID that lies in a range of bytes, or answers nothing.
    package init?(_ bytes: Span<UInt8>, from start: Int, to end: Int) {
        guard end - start == 36 else { return nil }
        (high, low) = (0, 0)
        for offset in 0..<36 {
            let byte = bytes[start + offset]
            switch offset {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
            default:
                guard ByteClass.isHexadecimal(byte) else { return nil }
                let digit = UInt64(byte <= UInt8(ascii: "9") ? byte & 15 : (byte & 15) + 9)
                if offset < 18 { high = high << 4 | digit } else { low = low << 4 | digit }
            }
        }
    }

    /// The sixteen bytes, the highest first.
    package var bytes: [UInt8] {
        [high, low].flatMap { word in (0..<8).reversed().map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
    }
}
