/// A table for people: aligned columns, never wider than the terminal, each row one line.
///
/// The last column takes the room that the others leave. When even its least
/// width is not there, the most expendable column goes, then the next. Widths
/// are settled by the first rows, so that a table can go on page by page.
struct Table {
    private let columns: [Column]
    private let width: Int?
    private let painter: Painter
    /// The width of each column, or nothing where it was left out.
    private var widths: [Int?] = []
    private var isHeaded = false

    /// Two spaces, as the tables of systemd have.
    private static let gap = 2

    init(_ columns: [Column], width: Int?, painter: Painter) {
        self.columns = columns
        self.width = width
        self.painter = painter
    }

    /// The lines of more rows, below the head when they are the first.
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
            return width == nil ? widest : min(widest, columns[index].maximum)
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
            guard let victim = candidates.max(by: { columns[$0].expendability < columns[$1].expendability }) else {
                return squeezed(widths, to: width)
            }
            widths[victim] = nil
        }
    }

    /// Gives each column in turn what is left, on a terminal too narrow for anything else.
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
        // Spaces are written only before something visible, so that no line ends in them.
        var pending = 0
        for (index, cell) in cells.enumerated() {
            guard let width = widths[index] else { continue }
            let text = Fitting.cut(cell.text, to: width)
            let room = width - DisplayWidth.of(text)
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
