package import IssueWire

/// What `Purge` answers: how many records were erased, and where some of them are left.
package struct PurgeReply: Equatable, Sendable {
    package var count: Int64
    package var unreachable: [String]

    package init(count: Int64, unreachable: [String] = []) {
        self.count = count
        self.unreachable = unreachable
    }
}

extension PurgeReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var count: Int64?
        var unreachable: [String] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "count": try scanner.read(&count, key)
            case "unreachable": try scanner.read(&unreachable, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            count: try count.required("count"),
            unreachable: unreachable
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("count", count)
        writer.member("unreachable", unreachable)
        writer.closeObject()
    }
}
