package import IssueWire

/// What `Show` is called with.
package struct ShowParameters: Equatable, Sendable {
    /// A record's id, or a group's.
    package var id: String

    package init(id: String) {
        self.id = id
    }
}

extension ShowParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var id: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "id": try scanner.read(&id, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            id: try id.required("id")
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("id", id)
        writer.closeObject()
    }
}
