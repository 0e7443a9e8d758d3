import IssueProtocol

/// The formats of the results of `issuectl sql`.
enum SQLFormat: Sendable {
    case table
    /// RFC 4180, but with line feeds as in other text files.
    case csv
    /// One JSON array of objects per result.
    case json
    /// One JSON object per row.
    case lines
}

extension CommandContext {
    /// Prints the result of a query. A statement without columns prints nothing.
    func print(_ result: SQLResult, as format: SQLFormat) throws(CommandFailure) {
        guard !result.columns.isEmpty else { return }
        switch format {
        case .table: try print(table(result))
        case .csv:
            let lines = [result.columns.map { SQLValue.text($0) }] + result.rows
            let text = lines.map { $0.map(\.csv).joined(separator: ",") }
            // A terminal would interpret control characters.
            try print(terminal.isTerminal ? text.flatMap { TerminalSanitizer.lines($0) } : text)
        case .json:
            let objects = Self.objects(result)
            var text = Array("[".utf8)
            for (index, object) in objects.enumerated() {
                if index > 0 { text += Array(",\n ".utf8) }
                text += object
            }
            try print(json: text + Array("]".utf8))
        case .lines:
            let objects = Self.objects(result)
            if !objects.isEmpty { try print(json: Array(objects.joined(separator: [UInt8(ascii: "\n")]))) }
        }
    }

    private static func objects(_ result: SQLResult) -> [[UInt8]] {
        let keys = uniqueKeys(result.columns)
        return result.rows.map { row in
            var writer = JSONWriter()
            writer.object { object in
                for (key, value) in zip(keys, row) {
                    object.key(key)
                    value.write(to: &object)
                }
            }
            return writer.bytes
        }
    }

    /// Returns the names of the columns, with a number after those that occur before.
    static func uniqueKeys(_ columns: [String]) -> [String] {
        var known: Set<String> = []
        return columns.map { name in
            var key = name
            var number = 1
            while !known.insert(key).inserted {
                key = "\(name):\(number)"
                number += 1
            }
            return key
        }
    }

    private func table(_ result: SQLResult) -> [String] {
        let rows = result.rows.map { $0.map(\.cell) }
        let widths = result.columns.indices.map { column in
            rows.reduce(DisplayWidth.of(TerminalSanitizer.line(result.columns[column]))) {
                max($0, DisplayWidth.of($1[column].text))
            }
        }
        let maximum = width.map { Self.columnMaximum(widths, in: $0) }
        let columns = result.columns.enumerated().map { index, name in
            let isNumber = result.rows.allSatisfy { $0[index].isNumberOrNull }
            return Column(
                TerminalSanitizer.line(name), alignment: isNumber && !result.rows.isEmpty ? .right : .left,
                maximum: maximum ?? .max)
        }
        // Every column is shown, so lines that are too long in spite of `maximum` wrap.
        var table = Table(columns, width: maximum.map { _ in .max }, painter: painter)
        return table.lines(rows)
    }

    /// Returns the maximum width of a column with which all columns fit a terminal: wide columns share what narrow ones
    /// leave.
    static func columnMaximum(_ widths: [Int], in width: Int) -> Int {
        var left = width - 2 * max(0, widths.count - 1)
        var count = widths.count
        for next in widths.sorted() {
            guard next * count > left else {
                left -= next
                count -= 1
                continue
            }
            // Less would not be readable.
            return max(8, left / count)
        }
        return .max
    }
}

extension SQLValue {
    fileprivate var isNumberOrNull: Bool {
        switch self {
        case .null, .integer, .real: true
        case .text, .blob: false
        }
    }

    fileprivate var cell: Cell {
        switch self {
        case .null: Cell("NULL", style: .faint)
        case .integer, .real, .text, .blob: Cell(plain)
        }
    }

    /// The value as text; a blob as an SQL literal, and NULL as an empty text.
    private var plain: String {
        switch self {
        case .null: return ""
        case .integer(let number): return "\(number)"
        case .real(let number): return "\(number)"
        case .text(let text): return text
        case .blob(let bytes):
            let digits = Array("0123456789ABCDEF".utf8)
            var literal = Array("X'".utf8)
            for byte in bytes { literal += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
            return String(decoding: literal + [UInt8(ascii: "'")], as: UTF8.self)
        }
    }

    /// The value as a field of CSV. Quotes tell an empty text from NULL.
    fileprivate var csv: String {
        let text = plain
        guard case .text = self else { return text }
        let needsQuotes = text.utf8.contains { [0x0A, 0x0D, 0x20, 0x22, 0x2C].contains($0) }
        guard text.isEmpty || needsQuotes else { return text }
        return "\"\(text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
    }

    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .integer(let number): writer.integer(number)
        // JSON has no infinity.
        case .real(let number): if number.isFinite { writer.raw("\(number)") } else { writer.null() }
        case .text, .blob: writer.string(plain)
        }
    }
}
