package import IssueWire

/// How many records there were in each bucket (`Series` on the wire).
package struct HistogramSeries: Equatable, Sendable {
    /// Of applications and groups, the last series counts what is in none of the others.
    package static let rest = "*"

    /// The word, name or id that it is for.
    package var key: String
    package var counts: [Int64]

    package init(key: String, counts: [Int64]) {
        self.key = key
        self.counts = counts
    }

    package var sum: Int64 { counts.reduce(0, +) }
}

extension HistogramSeries: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var key: String?
        var counts: [Int64] = []
        try scanner.openFields()
        while let field = try scanner.nextField() {
            switch field {
            case "key": try scanner.read(&key, field)
            case "counts": try scanner.read(&counts, field)
            default: try scanner.skipField(field)
            }
        }
        self.init(key: try key.required("key"), counts: counts)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("key", key)
        writer.member("counts", counts)
        writer.closeObject()
    }
}
