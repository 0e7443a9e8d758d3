package import IssueWire

/// What `Flush` is called with.
package struct FlushParameters: Equatable, Sendable {
    /// The one to forward to, or all.
    package var destination: String?
    package var timeout: Duration?

    package init(destination: String? = nil, timeout: Duration? = nil) {
        self.destination = destination
        self.timeout = timeout
    }
}

extension FlushParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destination": try scanner.read(&destination, key)
            case "timeout": try scanner.read(&timeout, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destination", ifPresent: destination)
        writer.member("timeout", ifPresent: timeout)
        writer.closeObject()
    }
}
