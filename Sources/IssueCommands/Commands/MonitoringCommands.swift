import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl health`: prints a verdict in one word and its reasons.
struct HealthCommand: Command {
    static let standard = HealthThresholds()

    static let degradedAge = OptionSpecification(
        "degraded-after", value: "TIME",
        "Degraded if a record or correction has been pending for TIME (default 15min, or the time of --failing-after "
            + "if that is shorter)")
    static let failingAge = OptionSpecification(
        "failing-after", value: "TIME", "Failing if a record or correction has been pending for TIME (default 6h)")

    static let specification = CommandSpecification(
        name: "health", summary: "Show in one word whether the daemon is healthy, and why not",
        sections: [("Options", [degradedAge, failingAge, CommonOptions.shortTimeout])],
        notes: [
            "Prints healthy, degraded, failing or unknown, and the reasons.",
            "failing: reports are refused now, the database cannot be opened, a record or correction has been pending "
                + "for the time of --failing-after, or the daemon is not reachable or does not reply.",
            "degraded: a destination is paused, a record or correction has been pending for the time of "
                + "--degraded-after, a record became a dead letter in the last 24 hours and its destination has "
                + "accepted nothing since, records expired in the last 24 hours, a report was refused for lack of "
                + "space or time in the last 15 minutes, a notifier does not deliver, or the store, the configuration "
                + "or the ledger has a fault.",
            "unknown: you have no right to see all records. Run issuectl health as root, as the daemon's user, or as a "
                + "member of a group in Readers= or Operators=.",
            "Exits with 0 if healthy, with 1 if degraded or unknown, and with 2 if failing.",
        ],
        examples: ["issuectl health", "issuectl health --degraded-after 1h --json"])

    private var thresholds = Self.standard
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        if let age = try arguments.duration(Self.degradedAge) { thresholds.degradedAge = age }
        if let age = try arguments.duration(Self.failingAge) {
            thresholds.failingAge = age
            if !arguments.has(Self.degradedAge) { thresholds.degradedAge = min(thresholds.degradedAge, age) }
        }
        if thresholds.degradedAge > thresholds.failingAge {
            throw UsageError("--degraded-after must not be longer than --failing-after, which is 6h by default")
        }
        timeout = try arguments.duration(CommonOptions.shortTimeout) ?? .seconds(5)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let report = report(in: context)
        switch context.format {
        case .human: try context.print(lines(report))
        case .json, .lines: try context.print(json: report.json)
        }
        switch report.verdict.code {
        case 0: break
        case 1: throw CommandFailure(.refused, nil)
        default: throw CommandFailure(.failing, nil)
        }
    }

    private func report(in context: CommandContext) -> HealthReport {
        do throws(CommandFailure) {
            let status = try context.collector().call(CollectorCalls.status, timeout: timeout).value
            return HealthReport(status, now: context.now, thresholds: thresholds)
        } catch {
            let reason = error.message ?? "the daemon does not reply"
            return HealthReport(findings: [HealthFinding(.unreachable, .failing, reason)])
        }
    }

    /// Returns a line with the verdict and the first reason, if there is one, and a line for each further reason.
    private func lines(_ report: HealthReport) -> [String] {
        guard let first = report.findings.first else { return [report.verdict.rawValue] }
        return ["\(report.verdict.rawValue): \(TerminalSanitizer.line(first.message))"]
            + report.findings.dropFirst().map { "  \($0.verdict.rawValue): \(TerminalSanitizer.line($0.message))" }
    }
}

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
            "If the daemon is not reachable or does not reply, the only metric is issued_up with the value 0, and the "
                + "exit status is 69. Users without the right to see all records get only issued_up, "
                + "issued_build_info and issued_start_time_seconds.",
            "The systemd timer issued-metrics.timer writes the metrics to the folder of node_exporter's textfile "
                + "collector every minute.",
        ],
        examples: [
            "issuectl metrics",
            "issuectl metrics --format prometheus --output /var/lib/prometheus/node-exporter/issued.prom",
        ])

    private let format: MetricFormat
    private let file: String?
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        format = try arguments.choice(Self.format) ?? .openMetrics
        file = arguments[Self.output]
        timeout = try arguments.duration(CommonOptions.shortTimeout) ?? .seconds(5)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let source: MetricSource
        do throws(CommandFailure) {
            source = MetricSource(
                try context.collector().call(CollectorCalls.status, timeout: timeout).value, now: context.now)
        } catch {
            try write(MetricText.unreachable(format), MetricFamily.unreachable, in: context)
            throw CommandFailure(.unavailable, error.message)
        }
        try write(MetricText.text(source, format), MetricFamily.values(source), in: context)
    }

    /// Prints metrics as text or JSON, or writes them to the file that `--output` names.
    private func write(
        _ text: String, _ values: [(family: MetricFamily, samples: [MetricSample])], in context: CommandContext
    ) throws(CommandFailure) {
        let families = values.map { json($0.family, $0.samples) }
        guard let file else { return try context.print("metrics", families) { [String(text.dropLast())] } }
        let lines = context.format == .json ? [PrettyJSON.document("metrics", families)] : families
        let bytes = context.format == .human ? Array(text.utf8) : lines.flatMap { $0 + [UInt8(ascii: "\n")] }
        do throws(Errno) {
            try context.files.replace(file, bytes)
        } catch {
            throw CommandFailure(.refused, "cannot write \(file): \(error)")
        }
    }

    /// Returns a family as a JSON object.
    private func json(_ family: MetricFamily, _ samples: [MetricSample]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("name", family.sampleName)
            writer.member("type", family.kind.rawValue)
            writer.key("samples")
            writer.array { writer in
                for sample in samples {
                    writer.object { writer in
                        for label in sample.labels { writer.member(label.name, label.value) }
                        writer.member("value", sample.value)
                    }
                }
            }
        }
        return writer.bytes
    }
}
