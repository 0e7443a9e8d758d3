/// One frame of a backtrace, as addresses or as names.
package struct Frame: Hashable, Sendable {
    package var image: String?
    package var buildID: String?
    package var offset: Int64?
    package var symbol: String?
    package var file: String?
    package var line: Int64?

    package init(
        image: String? = nil, buildID: String? = nil, offset: Int64? = nil, symbol: String? = nil,
        file: String? = nil, line: Int64? = nil
    ) {
        self.image = image
        self.buildID = buildID
        self.offset = offset
        self.symbol = symbol
        self.file = file
        self.line = line
    }
}
