import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl metrics`: prints the daemon's metrics, or writes them to a file.
struct MetricsCommand: Command {
    static let format = OptionSpecification(
        "format", value: "FORMAT", from: .words(MetricFormat.allCases.map(\.rawValue)),
        "openmetrics (default), or prometheus for node_exporter")
    static let output = OptionSpecification(
        "output", value: "FILE", from: .files, "Replace FILE atomically instead of printing")

    static let specification = CommandSpecification(
        name: "metrics", summary: "Print metrics in the text format of OpenMetrics or Prometheus",
        sections: [("Options", [format, output, CommonOptions.shortTimeout])],
        notes: [
            "If the daemon is not reachable, the only metric is issued_up with the value 0, and the exit status is 69. "
                + "Users who may not see all records get only issued_up, issued_build_info and "
                + "issued_start_time_seconds.",
            "issued-metrics.timer writes them every minute to the folder of node_exporter's textfile collector.",
        ],
        examples: [
            "issuectl metrics",
            "issuectl metrics --format prometheus --output /var/lib/prometheus/node-exporter/issued.prom",
        ])

    private let format: MetricFormat
    private let file: String?
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        format =
            try arguments.choice(
                Self.format, among: MetricFormat.allCases.map(\.rawValue), MetricFormat.init(rawValue:)) ?? .openMetrics
        file = arguments[Self.output]
        timeout = try arguments.duration(CommonOptions.shortTimeout) ?? .seconds(5)
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let source: MetricSource
        do throws(CommandFailure) {
            source = MetricSource(
                try context.collector().call(CollectorCalls.status, timeout: timeout).value, now: context.now)
        } catch {
            try write(MetricText.unreachable(format), MetricFamily.unreachable, in: context)
            throw CommandFailure(.unavailable, error.message)
        }
        try write(MetricText.text(source, format), MetricFamily.values(source), in: context)
        return .success
    }

    /// Prints metrics, or writes them to the file of `--output`, in the format of the output.
    private func write(
        _ text: String, _ values: [(family: MetricFamily, samples: [MetricSample])], in context: CommandContext
    ) throws(CommandFailure) {
        let families = values.map { json($0.family, $0.samples) }
        switch context.format {
        case .human:
            guard file == nil else { return try save(Array(text.utf8), in: context) }
            try context.print(text: text)
        case .json:
            var writer = JSONWriter()
            writer.object { writer in
                writer.key("metrics")
                writer.array { writer in for family in families { writer.raw(family) } }
            }
            guard file == nil else { return try save(writer.bytes + [UInt8(ascii: "\n")], in: context) }
            try context.print(json: writer.bytes)
        case .lines:
            guard file == nil else { return try save(families.flatMap { $0 + [UInt8(ascii: "\n")] }, in: context) }
            for family in families { try context.print(json: family) }
        }
    }

    /// Replaces the file of `--output`.
    private func save(_ bytes: [UInt8], in context: CommandContext) throws(CommandFailure) {
        guard let file else { return }
        do throws(Errno) {
            try context.files.replace(file, bytes)
        } catch {
            throw CommandFailure(.refused, "cannot write \(file): \(error)")
        }
    }

    /// A family as a line of JSON.
    private func json(_ family: MetricFamily, _ samples: [MetricSample]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("name")
            writer.string(family.sampleName)
            writer.key("type")
            writer.string(family.kind.rawValue)
            writer.key("samples")
            writer.array { writer in
                for sample in samples {
                    writer.object { writer in
                        for label in sample.labels {
                            writer.key(label.name)
                            writer.string(label.value)
                        }
                        writer.key("value")
                        writer.integer(sample.value)
                    }
                }
            }
        }
        return writer.bytes
    }
}
