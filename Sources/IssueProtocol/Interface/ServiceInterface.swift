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
package struct ServiceInfo: Equatable, JSONObjectCodable, Sendable {
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

    package static var initial: Self { Self(vendor: "", product: "", version: "", url: "", interfaces: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("vendor", &vendor)
        try members.required("product", &product)
        try members.required("version", &version)
        try members.required("url", &url)
        try members.defaulted("interfaces", &interfaces, [])
    }
}

/// The methods of `org.varlink.service`, which every Varlink service implements.
package enum ServiceMethod: String, VarlinkMethod, CaseIterable, Sendable {
    case getInfo = "GetInfo"
    case getInterfaceDescription = "GetInterfaceDescription"

    package static var interface: String { ServiceInterface.name }
}

/// The parameters of `org.varlink.service.GetInterfaceDescription`.
package struct InterfaceDescriptionParameters: Equatable, JSONObjectCodable, Sendable {
    package var interface: String

    package init(interface: String) {
        self.interface = interface
    }

    package static var initial: Self { Self(interface: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("interface", &interface)
    }
}

/// The reply of `org.varlink.service.GetInterfaceDescription`.
package struct InterfaceDescriptionReply: Equatable, JSONObjectCodable, Sendable {
    package var description: String

    package init(description: String) {
        self.description = description
    }

    package static var initial: Self { Self(description: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("description", &description)
    }
}
