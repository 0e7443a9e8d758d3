internal import IssueWire

/// The methods of `org.varlink.service`, which every Varlink service has.
package enum ServiceMethod: String, CaseIterable, Sendable {
    case getInfo = "GetInfo"
    case getInterfaceDescription = "GetInterfaceDescription"

    /// The method's name with its interface, as a call has it.
    package var fullName: String { "\(ServiceInterface.name).\(rawValue)" }

    /// The method that a full name means, or nothing.
    package init?(fullName: String) {
        guard let method = Self.allCases.first(where: { $0.fullName == fullName }) else { return nil }
        self = method
    }
}
