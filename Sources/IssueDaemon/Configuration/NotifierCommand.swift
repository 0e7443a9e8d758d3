/// A program and its arguments, as in the `ExecStart=` of a systemd unit, but without variables and prefixes.
///
/// Arguments are separated by blanks. Quotation marks (`"` or `'`) keep blanks, and a backslash begins an escape. No
/// shell is involved, so `|`, `>`, `*` and `$` have no meaning.
package struct NotifierCommand: Hashable, Sendable {
    /// The line as it was written.
    package let text: String
    /// The absolute path of the program, and its arguments.
    package let arguments: [String]

    package static let maxBytes = 4096
    package static let maxArguments = 64

    /// Returns nil if the line is invalid: no absolute path, an open quotation mark, an unknown escape, or too long.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maxBytes, let words = Self.words(of: text), let program = words.first,
            program.hasPrefix("/"), !program.hasSuffix("/"), words.count <= Self.maxArguments,
            words.allSatisfy({ !$0.utf8.contains(0) })
        else { return nil }
        self.text = text
        arguments = words
    }

    private static func words(of text: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var rest = text[...]
        while let character = rest.popFirst() {
            if character == "\\" {
                guard let value = escape(takenFrom: &rest) else { return nil }
                word = (word ?? "") + value
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                quote = character
                // Empty quotation marks are an empty argument.
                word = word ?? ""
            } else if quote == nil, character == " " || character == "\t" {
                if let finished = word { words.append(finished) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return quote == nil ? words : nil
    }

    private static func escape(takenFrom rest: inout Substring) -> String? {
        guard let character = rest.popFirst() else { return nil }
        switch character {
        case "\\", "\"", "'", " ": return String(character)
        case "s": return " "
        case "n": return "\n"
        case "t": return "\t"
        case "x":
            let digits = rest.prefix(2)
            // A byte above 0x7F alone is not UTF-8.
            guard digits.count == 2, let code = UInt8(digits, radix: 16), code > 0, code < 0x80 else { return nil }
            rest = rest.dropFirst(2)
            return String(UnicodeScalar(code))
        case _: return nil
        }
    }
}

extension ValueForm where Value == NotifierCommand {
    static var command: Self {
        ValueForm(
            expected:
                "the absolute path of a program and its arguments, such as /usr/local/bin/page --urgent \"on call\"",
            parse: { NotifierCommand($0) }, text: { $0.text }, isRepeated: false)
    }
}
