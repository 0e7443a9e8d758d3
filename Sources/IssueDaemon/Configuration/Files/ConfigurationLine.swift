/// A line that says something: without comments, and with those joined to it that a backslash continues.
struct ConfigurationLine: Equatable {
    /// Of the first of the lines that were joined, counted from 1.
    var number: Int
    /// Without blanks around it; nil where it is no UTF-8.
    var text: String?

    static func lines(of content: [UInt8]) -> [ConfigurationLine] {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let content = content.starts(with: mark) ? content.dropFirst(mark.count) : content[...]
        var lines: [ConfigurationLine] = []
        var joined: [UInt8] = []
        var start: Int?

        func finish() {
            guard let number = start else { return }
            let bytes = trimmed(joined[...])
            if !bytes.isEmpty {
                lines.append(ConfigurationLine(number: number, text: String(validating: bytes, as: UTF8.self)))
            }
            joined = []
            start = nil
        }

        var number = 0
        for line in content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            var line = trimmed(line)
            // A comment neither ends a line that goes on nor goes on itself.
            if let first = line.first, first == UInt8(ascii: "#") || first == UInt8(ascii: ";") { continue }
            let continues = line.reversed().prefix { $0 == UInt8(ascii: "\\") }.count % 2 == 1
            if continues { line = line.dropLast() }
            if start == nil { start = number }
            joined += line
            if continues {
                joined.append(UInt8(ascii: " "))
            } else {
                finish()
            }
        }
        finish()
        return lines
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
        }
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return bytes[first...last]
    }
}
