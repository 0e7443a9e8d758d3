internal import IssueWire

/// The interface that every Varlink service has: what it is, and what it offers.
package enum ServiceInterface {
    package static let name = "org.varlink.service"

    /// The interface in Varlink's own language.
    package static let description = """
        # What every Varlink service answers: who it is, and which interfaces it has.
        interface org.varlink.service

        # Who made the service, which version it is, and the names of its interfaces.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # The description of one of its interfaces.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The service has no such interface.
        error InterfaceNotFound (interface: string)

        # The interface has no such method.
        error MethodNotFound (method: string)

        # The interface has the method, but the service does not offer it.
        error MethodNotImplemented (method: string)

        # A parameter is missing, has the wrong type, or is out of its range.
        error InvalidParameter (parameter: string)

        # The caller may not do this.
        error PermissionDenied ()

        # The method answers only calls that take more than one reply.
        error ExpectedMore ()

        """
}
