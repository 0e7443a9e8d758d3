package import IssueProtocol
internal import Issues

extension IssueBrowser {
    /// A call that was under way: as a place in a binary, and with names where the sender knew them.
    public struct Frame: Sendable {
        package var wire: IssueProtocol.Frame

        package init(_ wire: IssueProtocol.Frame) {
            self.wire = wire
        }

        /// The name of the binary.
        public var image: String? { wire.image }
        /// The binary's build id, by which its symbols are found.
        public var buildID: String? { wire.buildID }
        /// How many bytes behind the beginning of the symbol, or of the binary where there is none.
        public var offset: UInt64? { wire.offset.map { UInt64(bitPattern: $0) } }
        /// The function.
        public var symbol: String? { wire.symbol }
        /// The source file.
        public var file: String? { wire.file }
        /// The line in it.
        public var line: Int? { wire.line.map { Int(clamping: $0) } }
    }
}

extension IssueBrowser.Frame: CustomStringConvertible {
    /// All that is known of it, in one line.
    public var description: String {
        var text = image ?? "?"
        if let symbol { text += " \(symbol)" }
        if let offset { text += " + 0x\(String(offset, radix: 16))" }
        if let file { text += " at \(file)\(line.map { ":\($0)" } ?? "")" }
        if symbol == nil, let buildID { text += " [\(buildID)]" }
        return HarmlessText.line(text)
    }
}
