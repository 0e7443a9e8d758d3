/// Makes what strangers wrote safe to show on a terminal.
///
/// A record may hold anything: escape sequences that repaint the screen or
/// answer as if typed, characters that turn the direction of the line, marks
/// piled up without end. All of these become visible instead of active.
package enum TerminalSanitizer {
    /// The text on one line.
    package static func line(_ text: String) -> String {
        render(text, keepsLines: false)
    }

    /// The text with its line feeds kept, for pages that have room for them.
    package static func lines(_ text: String) -> [String] {
        render(text, keepsLines: true).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private static func render(_ text: String, keepsLines: Bool) -> String {
        // Most texts need no change.
        guard !text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return text }
        var harmless = ""
        harmless.reserveCapacity(text.utf8.count)
        for character in text {
            if keepsLines, character == "\n" || character == "\r\n" {
                harmless.append("\n")
                continue
            }
            var marks = 0
            for scalar in character.unicodeScalars {
                if isActive(scalar) {
                    harmless += escape(scalar)
                } else if marks < maximumScalars {
                    harmless.unicodeScalars.append(scalar)
                }
                marks += 1
            }
        }
        return harmless
    }

    /// More than any character that people write has: a family of emoji takes eleven.
    private static let maximumScalars = 16

    /// Whether a terminal may obey a character, or does not show it.
    package static func isActive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F: return false
        // The joiners that emoji and several scripts are written with.
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
        let digits = String(scalar.value, radix: 16)
        guard scalar.value <= 0xFF else { return "\\u{\(digits)}" }
        return "\\x" + (digits.count == 1 ? "0" : "") + digits
    }
}
