/// A line of a configuration file, or the file as a whole.
package struct ConfigurationPlace: Hashable, Sendable, CustomStringConvertible {
    package var file: String
    /// Counted from 1; nil for the whole file.
    package var line: Int?

    package init(file: String, line: Int? = nil) {
        self.file = file
        self.line = line
    }

    package var description: String { line.map { "\(file):\($0)" } ?? file }
}
