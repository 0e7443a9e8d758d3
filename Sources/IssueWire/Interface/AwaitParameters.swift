/// What `Await` is called with.
package struct AwaitParameters: Equatable, Sendable {
    package var id: String
    /// The one whose answer is awaited, or all.
    package var destination: String?
    package var timeout: Duration?

    package init(id: String, destination: String? = nil, timeout: Duration? = nil) {
        self.id = id
        self.destination = destination
        self.timeout = timeout
    }
}

extension AwaitParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var id: String?
        var destination: String?
        var timeout: Duration?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "id": try scanner.read(&id, key)
            case "destination": try scanner.read(&destination, key)
            case "timeout": try scanner.read(&timeout, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            id: try id.required("id"),
            destination: destination,
            timeout: timeout
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("id", id)
        writer.member("destination", ifPresent: destination)
        writer.member("timeout", ifPresent: timeout)
        writer.closeObject()
    }
}
