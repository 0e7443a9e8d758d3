/// The place in the sender's code that a record names (`Source` on the wire).
package struct SourceLocation: Hashable, Sendable {
    package var fileID: String?
    package var line: Int64?
    package var column: Int64?
    package var function: String?
    package var module: String?

    package init(
        fileID: String? = nil, line: Int64? = nil, column: Int64? = nil, function: String? = nil, module: String? = nil
    ) {
        self.fileID = fileID
        self.line = line
        self.column = column
        self.function = function
        self.module = module
    }
}
