/// The place in the source code that reported an issue.
public struct IssueSite: Sendable {
    /// The module and the file, such as `Shop/Cart.swift`.
    public var fileID: StaticString
    /// The path of the file on the machine that compiled it.
    public var filePath: StaticString
    /// The line, counted from 1.
    public var line: UInt
    /// The column, counted from 1.
    public var column: UInt
    /// The function, where the reporting call knows it.
    public var function: StaticString?

    /// The place that calls this, unless told otherwise.
    public init(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column, function: StaticString? = nil
    ) {
        self.fileID = fileID
        self.filePath = filePath
        self.line = line
        self.column = column
        self.function = function
    }
}

extension IssueSite {
    /// The line and the file as one word, such as `42_Cart.swift`.
    public var name: String {
        let path = fileID.description
        return "\(line)_\(path.split(separator: "/").last.map(String.init) ?? path)"
    }
}

extension IssueSite: CustomStringConvertible {
    /// The file and the line, such as `Shop/Cart.swift:42`.
    public var description: String {
        "\(fileID):\(line)"
    }
}
