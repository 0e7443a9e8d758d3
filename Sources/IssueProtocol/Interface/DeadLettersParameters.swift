package import IssueWire

/// What `DeadLetters` is called with.
package struct DeadLettersParameters: Equatable, Sendable {
    /// Those of one destination, or of all.
    package var destination: String?
    /// Those of some records, or of all.
    package var records: [String]?
    /// Whether each is to come with what was to be sent.
    package var lines: Bool?
    package var limit: Int?
    package var after: String?

    package init(
        destination: String? = nil, records: [String]? = nil, lines: Bool? = nil, limit: Int? = nil,
        after: String? = nil
    ) {
        self.destination = destination
        self.records = records
        self.lines = lines
        self.limit = limit
        self.after = after
    }
}

extension DeadLettersParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destination": try scanner.read(&destination, key)
            case "records": try scanner.read(&records, key)
            case "lines": try scanner.read(&lines, key)
            case "limit": try scanner.read(&limit, key)
            case "after": try scanner.read(&after, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destination", ifPresent: destination)
        writer.member("records", ifPresent: records)
        writer.member("lines", ifPresent: lines)
        writer.member("limit", ifPresent: limit)
        writer.member("after", ifPresent: after)
        writer.closeObject()
    }
}
