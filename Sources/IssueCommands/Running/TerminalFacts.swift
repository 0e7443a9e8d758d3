/// What is known of the terminal that people look at.
package struct TerminalFacts: Equatable, Sendable {
    /// Whether standard output goes to a person rather than into a file or a pipe.
    package var isTerminal: Bool
    package var columns: Int?
    package var rows: Int?

    package init(isTerminal: Bool, columns: Int? = nil, rows: Int? = nil) {
        self.isTerminal = isTerminal
        self.columns = columns
        self.rows = rows
    }

    /// The width that tables are cut to, or nothing where cutting would lose what a pipe is meant to carry.
    func tableWidth(_ environment: (String) -> String?) -> Int? {
        if let width = environment("COLUMNS").flatMap({ Int($0) }), width > 0 { return width }
        guard isTerminal else { return nil }
        return columns ?? 80
    }

    /// How many rows of a table fit onto one screen, with room for its head and the prompt.
    func tableRows(_ environment: (String) -> String?) -> Int {
        let variable = environment("LINES").flatMap { Int($0) }
        guard isTerminal, let rows = variable ?? rows, rows > 0 else { return 50 }
        return max(5, rows - 3)
    }
}
