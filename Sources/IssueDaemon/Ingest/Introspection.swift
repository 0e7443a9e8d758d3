import IssueProtocol

/// Answers `org.varlink.service`, by which a stranger finds out what can be asked here.
enum Introspection {
    /// The reply to a method that is none of the collector's.
    static func reply(to name: String, _ parameters: [UInt8]) throws(CollectorError) -> [UInt8] {
        guard let method = ServiceMethod(fullName: name) else { throw unknown(name) }
        switch method {
        case .getInfo:
            let info = ServiceInfo(
                vendor: "issued", product: "issued", version: ProductVersion.text, url: "",
                interfaces: [ServiceInterface.name, CollectorInterface.name])
            return VarlinkReply(parameters: info.json).message
        case .getInterfaceDescription:
            let asked: InterfaceDescriptionParameters
            do throws(FieldError) {
                asked = try InterfaceDescriptionParameters(json: parameters)
            } catch {
                throw CollectorError(refusing: error)
            }
            guard let description = descriptions[asked.interface] else { throw .interfaceNotFound(asked.interface) }
            return VarlinkReply(parameters: InterfaceDescriptionReply(description: description).json).message
        }
    }

    private static func unknown(_ name: String) -> CollectorError {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return .methodNotFound(name) }
        let interface = String(name[..<dot])
        return descriptions[interface] == nil ? .interfaceNotFound(interface) : .methodNotFound(name)
    }

    private static let descriptions = [
        ServiceInterface.name: ServiceInterface.description,
        CollectorInterface.name: CollectorInterface.description,
    ]
}
