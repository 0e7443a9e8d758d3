import IssueWire

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
        # the destination. fields: further labels, as strings.
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
    /// - Throws: `invalidParameter` with the name of a parameter, and `expectedMore` unless several replies are
    ///   accepted.
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
                    writer.key("name")
                    writer.string(family.varlinkName)
                    writer.key("description")
                    writer.string(family.help)
                    writer.key("type")
                    writer.string(family.kind.rawValue)
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
        writer.key("name")
        writer.string(family.varlinkName)
        writer.key("value")
        writer.integer(sample.value)
        if let object {
            writer.key("object")
            writer.string(object.value)
        }
        guard !fields.isEmpty else { return }
        writer.key("fields")
        writer.object { writer in
            for field in fields {
                writer.key(field.name)
                writer.string(field.value)
            }
        }
    }

    /// Returns a message for each reply. All but the last announce that another follows.
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
