import CLinux

extension StandardStream {
    /// The height of the terminal, if it is one and knows its height.
    package var rows: Int? {
        let rows = clinux_terminal_rows(rawValue)
        return rows > 0 ? Int(rows) : nil
    }
}
