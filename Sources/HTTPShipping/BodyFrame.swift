/// How lines become one body.
package struct BodyFrame: Equatable, Sendable {
    package let beginning: [UInt8]
    /// Stands between two lines.
    package let separator: [UInt8]
    package let end: [UInt8]

    /// Each line followed by a line feed.
    package static let lines = BodyFrame(beginning: [], separator: [UInt8(ascii: "\n")], end: [UInt8(ascii: "\n")])

    /// The lines as elements of the one array of an object.
    package static func array(named name: StaticString) -> BodyFrame {
        BodyFrame(
            beginning: Array("{\"\(name)\":[".utf8), separator: [UInt8(ascii: ",")], end: Array("]}".utf8))
    }

    /// The whole body.
    package func body(of lines: [[UInt8]]) -> [UInt8] {
        guard !lines.isEmpty else { return [] }
        var body: [UInt8] = []
        body.reserveCapacity(
            lines.reduce(beginning.count + end.count) { $0 + $1.count + separator.count })
        body += beginning
        for (index, line) in lines.enumerated() {
            if index > 0 { body += separator }
            body += line
        }
        body += end
        return body
    }
}
