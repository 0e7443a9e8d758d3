/// Cuts and pads texts to a number of columns.
package enum Fitting {
    /// The text, or as much of it as fits with `…` at the end.
    package static func cut(_ text: String, to width: Int) -> String {
        // No character is wider than its bytes are many, but for none: then nothing needs to be counted.
        guard text.utf8.count > width, DisplayWidth.of(text) > width else { return text }
        guard width > 0 else { return "" }
        var used = 0
        var kept = ""
        for character in text {
            let next = DisplayWidth.of(character)
            guard used + next <= width - 1 else { break }
            used += next
            kept.append(character)
        }
        return kept + "…"
    }

    static func pad(_ text: String, to width: Int, alignment: Alignment = .left) -> String {
        let room = String(repeating: " ", count: max(0, width - DisplayWidth.of(text)))
        switch alignment {
        case .left: return text + room
        case .right: return room + text
        }
    }

    /// Breaks a text between words into lines of at most a width; a longer word stands alone.
    static func wrap(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, DisplayWidth.of(line) + 1 + DisplayWidth.of(word) > width {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " " + word
        }
        return lines + [line]
    }
}
