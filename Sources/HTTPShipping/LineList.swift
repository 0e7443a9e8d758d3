/// Lines as one body.
package enum LineList {
    /// Each followed by a line feed.
    package static func lines(_ lines: [[UInt8]]) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(lines.reduce(0) { $0 + $1.count + 1 })
        for line in lines {
            body += line
            body.append(UInt8(ascii: "\n"))
        }
        return body
    }

    /// With a comma between them, as the elements of an array.
    package static func elements(_ lines: [[UInt8]]) -> [UInt8] {
        Array(lines.joined(separator: [UInt8(ascii: ",")]))
    }
}
