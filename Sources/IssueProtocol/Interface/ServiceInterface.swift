package import IssueWire

/// The interface that every Varlink service implements. It identifies the service and lists its interfaces.
package enum ServiceInterface {
    package static let name = "org.varlink.service"

    /// The interface in Varlink's interface definition language.
    package static let description = """
        # Implemented by every Varlink service. Identifies the service and lists its interfaces.
        interface org.varlink.service

        # Returns the vendor, the product, its version, and the names of the interfaces.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # Returns the description of one of the interfaces.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The service has no such interface.
        error InterfaceNotFound (interface: string)

        # The interface has no such method.
        error MethodNotFound (method: string)

        # The interface has the method, but the service does not offer it.
        error MethodNotImplemented (method: string)

        # A parameter is missing, has the wrong type, or is out of range.
        error InvalidParameter (parameter: string)

        # The caller is not allowed to do this.
        error PermissionDenied ()

        # The method must be called with more.
        error ExpectedMore ()

        """
}

/// The reply of `org.varlink.service.GetInfo`.
package struct ServiceInfo: Equatable, Sendable {
    package var vendor: String
    package var product: String
    package var version: String
    package var url: String
    package var interfaces: [String]

    package init(vendor: String, product: String, version: String, url: String, interfaces: [String]) {
        self.vendor = vendor
        self.product = product
        self.version = version
        self.url = url
        self.interfaces = interfaces
    }
}

extension ServiceInfo: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var vendor: String?
        var product: String?
        var version: String?
        var url: String?
        var interfaces: [String] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "vendor": try scanner.read(&vendor, key)
            case "product": try scanner.read(&product, key)
            case "version": try scanner.read(&version, key)
            case "url": try scanner.read(&url, key)
            case "interfaces": try scanner.read(&interfaces, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            vendor: try vendor.required("vendor"),
            product: try product.required("product"),
            version: try version.required("version"),
            url: try url.required("url"),
            interfaces: interfaces
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("vendor", vendor)
        writer.member("product", product)
        writer.member("version", version)
        writer.member("url", url)
        writer.member("interfaces", interfaces)
        writer.closeObject()
    }
}

/// The methods of `org.varlink.service`, which every Varlink service implements.
package enum ServiceMethod: String, CaseIterable, Sendable {
    case getInfo = "GetInfo"
    case getInterfaceDescription = "GetInterfaceDescription"

    /// The method's full name, including its interface, as used in calls.
    package var fullName: String { "\(ServiceInterface.name).\(rawValue)" }

    /// Returns the method with a full name, or nil if no such method exists.
    package init?(fullName: String) {
        guard let method = Self.allCases.first(where: { $0.fullName == fullName }) else { return nil }
        self = method
    }
}

/// The parameters of `org.varlink.service.GetInterfaceDescription`.
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

/// The reply of `org.varlink.service.GetInterfaceDescription`.
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
