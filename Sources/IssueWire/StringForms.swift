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

/// Makes untrusted text safe to display on a terminal.
///
/// A record can contain any text: escape sequences that repaint the screen or inject input, characters that change the
/// text direction, an unbounded number of combining marks. Control and format characters are shown as escapes such as
/// `\x1b`, and excess combining marks are left out.
package enum TerminalSanitizer {
    /// Returns the text as a single line.
    package static func line(_ text: String) -> String {
        render(text, keepsLines: false)
    }

    /// Returns the lines of the text, for output that may span several lines.
    package static func lines(_ text: String) -> [String] {
        render(text, keepsLines: true).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private static func render(_ text: String, keepsLines: Bool) -> String {
        // Most text needs no change.
        guard !text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return text }
        var harmless = ""
        harmless.reserveCapacity(text.utf8.count)
        for character in text {
            if keepsLines, character == "\n" || character == "\r\n" {
                harmless.append("\n")
                continue
            }
            var scalars = 0
            for scalar in character.unicodeScalars {
                if needsEscape(scalar) {
                    harmless += escape(scalar)
                } else if scalars < maxScalars {
                    harmless.unicodeScalars.append(scalar)
                }
                scalars += 1
            }
        }
        return harmless
    }

    /// The maximum number of unescaped scalars shown per character. Real characters have fewer; a family emoji with
    /// skin tones has eleven.
    private static let maxScalars = 16

    /// Returns `true` for control and format characters, and for line and paragraph separators. The zero-width
    /// joiner and non-joiner, which emoji and several scripts need, are exceptions.
    package static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F: return false
        case 0x200C, 0x200D: return false
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: return true
        default: return false
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        default: break
        }
        let digits = String(hexadecimal: scalar.value, width: 2)
        return scalar.value <= 0xFF ? "\\x\(digits)" : "\\u{\(digits)}"
    }
}
