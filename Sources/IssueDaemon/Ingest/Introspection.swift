import IssueProtocol

/// The interface `org.varlink.service`, with which clients discover the other interfaces.
enum Introspection {
    /// Returns the reply to a method that is not one of the collector's.
    ///
    /// - Throws: `methodNotFound`, `interfaceNotFound` or `invalidParameter`.
    static func reply(to name: String, _ parameters: [UInt8]) throws(CollectorError) -> [UInt8] {
        guard let method = ServiceMethod(fullName: name) else { throw unknown(name) }
        switch method {
        case .getInfo:
            let info = ServiceInfo(
                vendor: "issued", product: "issued", version: ProductVersion.text, url: "",
                interfaces: [ServiceInterface.name, CollectorInterface.name, MetricsInterface.name])
            return VarlinkReply(parameters: info.json).message
        case .getInterfaceDescription:
            let request: InterfaceDescriptionParameters
            do throws(FieldError) {
                request = try InterfaceDescriptionParameters(json: parameters)
            } catch {
                throw CollectorError(refusing: error)
            }
            guard let description = descriptions[request.interface] else { throw .interfaceNotFound(request.interface) }
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
        MetricsInterface.name: MetricsInterface.description,
    ]
}
