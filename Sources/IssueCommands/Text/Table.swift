import IssueProtocol

/// A table with aligned columns that fits the terminal, with one line per row.
///
/// The last column gets the remaining width. If it would be narrower than both its text and its minimum, columns are
/// removed, those with the highest `expendability` first. The rows of the first call of `lines` determine the widths,
/// so that a table can be printed page by page.
struct Table {
    private let columns: [Column]
    private let width: Int?
    private let painter: Painter
    /// The width of each column; nil for a removed column.
    private var widths: [Int?] = []
    private var isHeaded = false

    /// The number of spaces between columns, as in the tables of systemd.
    private static let gap = 2

    init(_ columns: [Column], width: Int?, painter: Painter) {
        self.columns = columns
        self.width = width
        self.painter = painter
    }

    /// Returns the lines of further rows. The first call also returns the heading, if `hasHead` is `true`.
    mutating func lines(_ rows: [[Cell]], hasHead: Bool = true) -> [String] {
        var lines: [String] = []
        if !isHeaded {
            isHeaded = true
            widths = layout(rows, hasHead: hasHead)
            if hasHead { lines.append(line(columns.map { Cell($0.title, style: .heading) })) }
        }
        return lines + rows.map(line)
    }

    private func layout(_ rows: [[Cell]], hasHead: Bool) -> [Int?] {
        var widths: [Int?] = columns.indices.map { index in
            let widest = rows.reduce(hasHead ? DisplayWidth.of(columns[index].title) : 0) {
                max($0, DisplayWidth.of($1[index].text))
            }
            if columns[index].isOmittedIfUniform, Set(rows.map { $0[index].text }).count <= 1 { return nil }
            return min(widest, columns[index].maximum)
        }
        guard let width, let last = columns.indices.last else { return widths }
        while true {
            let taken = columns.indices.dropLast().reduce(0) { $0 + (widths[$1].map { $0 + Self.gap } ?? 0) }
            let wanted = widths[last] ?? 0
            if taken + min(wanted, columns[last].minimum) <= width {
                widths[last] = min(wanted, width - taken)
                return widths
            }
            let candidates = columns.indices.filter { widths[$0] != nil && columns[$0].expendability > 0 }
            guard let removed = candidates.max(by: { columns[$0].expendability < columns[$1].expendability }) else {
                return squeezed(widths, to: width)
            }
            widths[removed] = nil
        }
    }

    /// Returns the widths for a terminal that is too narrow even without the removable columns: each column in turn
    /// gets its width or, if less is left, the rest.
    private func squeezed(_ widths: [Int?], to width: Int) -> [Int?] {
        var left = width
        return widths.map { wanted in
            guard let wanted, left > 0 else { return nil }
            let given = min(wanted, left)
            left -= given + Self.gap
            return given
        }
    }

    private func line(_ cells: [Cell]) -> String {
        var line = ""
        // Spaces are written only before visible text, so that no line ends with spaces.
        var pending = 0
        for (index, cell) in cells.enumerated() {
            guard let width = widths[index] else { continue }
            // If the table's width is unlimited, no text is cut. Text wider than its column then shifts the rest of the
            // line.
            let text = self.width == nil ? cell.text : Fitting.cut(cell.text, to: width)
            let room = max(0, width - DisplayWidth.of(text))
            if columns[index].alignment == .right { pending += room }
            if !text.isEmpty {
                line += String(repeating: " ", count: pending) + painter(text, cell.style)
                pending = 0
            }
            if columns[index].alignment == .left { pending += room }
            pending += Self.gap
        }
        return line
    }
}

/// The properties of a table column.
struct Column: Sendable {
    var title: String
    var alignment: Alignment
    /// The maximum width, in columns of the terminal.
    var maximum: Int
    /// The minimum width, which has an effect only for the last column.
    var minimum: Int
    /// The order in which columns are removed if the table does not fit: the highest number first. A column with 0 is
    /// removed only if the columns before it leave no room.
    var expendability: Int
    /// Whether the column is left out if all rows of the first call of `lines` have the same text in it.
    var isOmittedIfUniform: Bool

    init(
        _ title: String, alignment: Alignment = .left, maximum: Int = .max, minimum: Int = 0, expendability: Int = 0,
        isOmittedIfUniform: Bool = false
    ) {
        self.title = title
        self.alignment = alignment
        self.maximum = maximum
        self.minimum = minimum
        self.expendability = expendability
        self.isOmittedIfUniform = isOmittedIfUniform
    }
}

/// A cell of a table, already safe for the terminal.
struct Cell: Equatable, Sendable {
    var text: String
    var style: TextStyle

    /// Creates a cell. Escapes characters that a terminal would interpret.
    init(_ text: String, style: TextStyle = .plain) {
        self.text = TerminalSanitizer.line(text)
        self.style = style
    }
}

/// The alignment of a column.
enum Alignment: Sendable {
    case left
    case right
}

/// A page of text with sections and headings.
struct TextPage {
    private(set) var lines: [String] = []
    private let painter: Painter

    init(painter: Painter) {
        self.painter = painter
    }

    /// Adds a heading, after an empty line if it is not the first line.
    mutating func heading(_ text: String) {
        if !lines.isEmpty { lines.append("") }
        lines.append(painter(TerminalSanitizer.line(text), .heading))
    }

    /// Adds fields with aligned names. Fields without a value are omitted.
    mutating func fields(_ fields: [(name: String, value: String?)], styles: [String: TextStyle] = [:]) {
        let present = fields.compactMap { field in
            field.value.map { (name: TerminalSanitizer.line(field.name), value: $0) }
        }
        let width = present.map { DisplayWidth.of($0.name) }.max() ?? 0
        for field in present {
            let value = painter(TerminalSanitizer.line(field.value), styles[field.name] ?? .plain)
            lines.append("  " + Fitting.pad(field.name, to: width) + "  " + value)
        }
    }

    /// Adds lines, which must be safe for the terminal already.
    mutating func add(_ more: [String], indent: Int = 2) {
        lines += more.map { $0.isEmpty ? "" : String(repeating: " ", count: indent) + $0 }
    }

    /// Adds an empty line.
    mutating func gap() {
        lines.append("")
    }
}

/// Cuts, pads and wraps text by display width.
package enum Fitting {
    /// Returns the text or, if it is too wide, its beginning followed by `…`; empty if the width is 0.
    package static func cut(_ text: String, to width: Int) -> String {
        // Measures only texts with more bytes than columns, since the width never exceeds the number of bytes.
        guard text.utf8.count > width, DisplayWidth.of(text) > width else { return text }
        guard width > 0 else { return "" }
        var used = 0
        var prefix = ""
        for character in text {
            let next = DisplayWidth.of(character)
            guard used + next <= width - 1 else { break }
            used += next
            prefix.append(character)
        }
        return prefix + "…"
    }

    /// Returns the text, followed by spaces up to a width.
    static func pad(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - DisplayWidth.of(text)))
    }

    /// Wraps a text at spaces. A word that exceeds the width is on a line of its own.
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

/// The width of text on a terminal, in columns.
package enum DisplayWidth {
    /// Returns the width of a text.
    package static func of(_ text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + of($1) }
    }

    /// Returns the width of a character: 2 with the emoji presentation, otherwise the width of its widest scalar.
    static func of(_ character: Character) -> Int {
        var width = 0
        for scalar in character.unicodeScalars {
            // This variation selector requests the emoji presentation.
            if scalar.value == 0xFE0F { return 2 }
            width = max(width, of(scalar))
            if width == 2 { break }
        }
        return width
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        if (0x20..<0x7F).contains(scalar.value) { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        // Conjoining Hangul vowels and final consonants are drawn in the cells of the initial consonant.
        if (0x1160...0x11FF).contains(scalar.value) { return 0 }
        return isWide(scalar) ? 2 : 1
    }

    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) }
    }

    /// The blocks that UAX #11 defines as wide or fullwidth, without emoji.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
        0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF,
        0x20000...0x3FFFD,
    ]
}

/// Adds colours to text if enabled.
struct Painter: Sendable {
    var isColored: Bool

    /// Returns the text with the escape sequences of a style, if colours are enabled.
    func callAsFunction(_ text: String, _ style: TextStyle) -> String {
        guard isColored, !text.isEmpty, let parameters = style.parameters else { return text }
        return "\u{1B}[\(parameters)m\(text)\u{1B}[0m"
    }
}

/// The styles of text.
enum TextStyle: Sendable {
    case plain
    case heading
    case faint
    case notice
    case warning
    case error
    case critical

    init(_ severity: IssueLevel) {
        switch severity {
        case .debug: self = .faint
        case .info: self = .notice
        case .warning: self = .warning
        case .error: self = .error
        case .critical: self = .critical
        }
    }

    /// The parameters of the escape sequence (SGR); nil for none.
    var parameters: String? {
        switch self {
        case .plain: nil
        case .heading: "1"
        case .faint: "2"
        case .notice: "36"
        case .warning: "33"
        case .error: "31"
        case .critical: "1;31"
        }
    }
}
