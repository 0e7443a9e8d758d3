package import IssueWire

/// What `org.varlink.service.GetInterfaceDescription` is called with.
package struct InterfaceDescriptionParameters: Equatable, Sendable {
    package var interface: String

    package init(interface: String) {
        self.interface = interface
    }
}

extension InterfaceDescriptionParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var interface: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "interface": try scanner.read(&interface, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            interface: try interface.required("interface")
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("interface", interface)
        writer.closeObject()
    }
}
