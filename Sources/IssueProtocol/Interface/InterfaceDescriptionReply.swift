package import IssueWire

/// What `org.varlink.service.GetInterfaceDescription` answers.
package struct InterfaceDescriptionReply: Equatable, Sendable {
    package var description: String

    package init(description: String) {
        self.description = description
    }
}

extension InterfaceDescriptionReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var description: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "description": try scanner.read(&description, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            description: try description.required("description")
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("description", description)
        writer.closeObject()
    }
}
