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

/// The interface `io.systemd.Metrics`, with which systemd 260 and later collects metrics of services.
///
/// The names are those of systemd's own description (`src/shared/varlink-io.systemd.Metrics.c`).
package enum MetricsInterface {
    package static let name = "io.systemd.Metrics"

    /// The interface in Varlink's interface definition language.
    package static let description = """
        # Metrics of a service. Collectors look for it in the sockets of /run/systemd/report.
        interface io.systemd.Metrics

        # counter: a sum that only grows, and may restart from 0. gauge: a value that can grow and shrink.
        type MetricFamilyType (counter, gauge, string)

        # Returns all values, one in each reply. Requires more. name: the family. object: what the value belongs to, here
        # the destination or notifier. fields: further labels, as strings.
        method List() -> (name: string, value: any, object: ?string, fields: ?[string]string)

        # Returns all families, one in each reply. Requires more.
        method Describe() -> (name: string, description: string, type: MetricFamilyType)

        # There is no value or family.
        error NoSuchMetric ()

        """
}

/// The methods of `io.systemd.Metrics`.
package enum MetricsMethod: String, VarlinkMethod, CaseIterable, Sendable {
    case list = "List"
    case describe = "Describe"

    package static var interface: String { MetricsInterface.name }
}

extension MetricsMethod {
    /// Checks the parameters of a call. Neither method has any.
    ///
    /// - Throws: `invalidParameter` if there is a parameter or `parameters` is not a JSON object, or `expectedMore` if
    ///   `more` is `false`.
    package static func check(parameters: [UInt8], more: Bool) throws(CollectorError) {
        guard let members = (try? JSONValue(json: parameters))?.asObject else { throw .invalidParameter("parameters") }
        if let first = members.first { throw .invalidParameter(first.key) }
        guard more else { throw .expectedMore }
    }

    /// The replies to `Describe`, as messages.
    package static var descriptionReplies: [UInt8] {
        replies(
            MetricFamily.all.map { family in
                { writer in
                    writer.member("name", family.varlinkName)
                    writer.member("description", family.help)
                    writer.member("type", family.kind.rawValue)
                }
            })
    }

    /// Returns the replies to `List`, as messages.
    package static func valueReplies(_ source: MetricSource) -> [UInt8] {
        replies(
            MetricFamily.values(source).flatMap { family, samples in
                samples.map { sample in { writer in Self.write(sample, of: family, to: &writer) } }
            })
    }

    private static func write(_ sample: MetricSample, of family: MetricFamily, to writer: inout JSONWriter) {
        let objects = [MetricSample.destinationLabel, MetricSample.notifierLabel]
        let object = sample.labels.first { objects.contains($0.name) }
        let fields = sample.labels.filter { !objects.contains($0.name) }
        writer.member("name", family.varlinkName)
        writer.member("value", sample.value)
        writer.member("object", ifPresent: object?.value)
        guard !fields.isEmpty else { return }
        writer.key("fields")
        writer.object { writer in for field in fields { writer.member(field.name, field.value) } }
    }

    /// Returns a message for each reply. All but the last have the member `continues`.
    private static func replies(_ replies: [(inout JSONWriter) -> Void]) -> [UInt8] {
        var messages: [UInt8] = []
        for (index, write) in replies.enumerated() {
            var writer = JSONWriter()
            writer.object(write)
            messages += VarlinkReply(parameters: writer.bytes, continues: index < replies.count - 1).message
        }
        return messages
    }
}

extension MetricFamily {
    /// The name on Varlink, such as `org.issued.Collector.StoreSizeBytes`.
    package var varlinkName: String {
        let words = familyName.dropFirst("issued_".count).split(separator: "_")
        return "\(CollectorInterface.name)." + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
