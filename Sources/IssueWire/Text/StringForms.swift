extension String {
    /// Creates the hexadecimal form of a number in lower case, padded with leading zeros.
    ///
    /// - Parameters:
    ///   - number: The number.
    ///   - width: The minimum number of digits.
    package init(hexadecimal number: some FixedWidthInteger & UnsignedInteger, width: Int) {
        let digits = String(number, radix: 16)
        self = String(repeating: "0", count: Swift.max(0, width - digits.utf8.count)) + digits
    }

    /// Returns the longest prefix of at most `limit` bytes of UTF-8 that does not split a Unicode scalar.
    package func prefix(bytes limit: Int) -> Substring {
        guard utf8.count > limit else { return self[...] }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return self[..<end]
    }
}

/// Base64 encoding (RFC 4648, section 4).
package enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns the bytes in Base64, with padding.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for index in 0..<4 {
                text.append(index <= group.count ? digits[bits >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
