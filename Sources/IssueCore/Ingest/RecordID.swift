package import IssueProtocol

/// The id of a stored record: the store that assigned it, and the record's row id.
///
/// As text it is twelve characters for the store, a hyphen and the row id, in Crockford's base 32 (without i, l, o and
/// u, so that it can be read aloud). Clients treat it as opaque.
package struct RecordID: Hashable, Sendable {
    /// The unique id of the store, in 60 bits.
    package var store: UInt64
    /// The record's row id.
    package var row: RowID

    package static let storeBits: UInt64 = (1 << 60) - 1

    package init(store: UInt64, row: RowID) {
        self.store = store & Self.storeBits
        self.row = row
    }

    package var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The id of the store as text: the part of `text` before the hyphen.
    package var storeText: String { String(text.prefix(12)) }

    package func append(to output: inout [UInt8]) {
        appendStore(to: &output)
        var row = ByteBuffer()
        Self.append(digitsOf: self.row.rawValue, to: &row)
        output.append(contentsOf: row[0..<row.count])
    }

    /// Appends the common prefix of all ids of the store.
    package func appendStore(to output: inout [UInt8]) {
        for position in (0..<12).reversed() {
            output.append(Self.digit(store >> UInt64(5 * position) & 31))
        }
        output.append(UInt8(ascii: "-"))
    }

    /// The number of consecutive rows whose ids differ only in the last digit, starting at a multiple of this number.
    package static let rowsPerPrefix: Int64 = 32

    /// Appends a number in the form that a row id has in a record's id.
    package static func append(digitsOf number: Int64, to output: inout ByteBuffer) {
        let number = UInt64(bitPattern: number)
        var words = InlineArray<2, UInt64>(repeating: 0)
        let count = max(0, (63 - number.leadingZeroBitCount) / 5) + 1
        let start = output.count
        output.appendRoom(16)
        // All digits at once, the first one in the lowest byte.
        for index in 0..<count {
            let digit = UInt64(digit(number >> UInt64(5 * (count - 1 - index)) & 31))
            words[index >> 3] |= digit << UInt64(8 * (index & 7))
        }
        output.store(words: words.span, at: start)
        output.truncate(to: start + count)
    }

    /// Parses an id. Nil if the text is not a valid id.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count > 13, bytes.count <= 13 + 13, bytes[12] == UInt8(ascii: "-"),
            let store = Self.number(bytes[..<12]), let row = Self.number(bytes[13...]), row <= UInt64(Int64.max),
            row > 0
        else { return nil }
        self.init(store: store, row: RowID(rawValue: Int64(row)))
    }

    private static func number(_ digits: some Sequence<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for digit in digits {
            guard value >> 59 == 0, let number = alphabet.firstIndex(of: digit | (digit > 0x40 ? 0x20 : 0)) else {
                return nil
            }
            value = value << 5 | UInt64(number)
        }
        return value
    }

    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    @inline(__always)
    private static func digit(_ value: UInt64) -> UInt8 {
        let number = UInt8(truncatingIfNeeded: value)
        switch number {
        case 0...9: return UInt8(ascii: "0") + number
        case 10...17: return UInt8(ascii: "a") + number - 10
        case 18, 19: return UInt8(ascii: "j") + number - 18
        case 20, 21: return UInt8(ascii: "m") + number - 20
        case 22...26: return UInt8(ascii: "p") + number - 22
        default: return UInt8(ascii: "v") + number - 27
        }
    }
}
