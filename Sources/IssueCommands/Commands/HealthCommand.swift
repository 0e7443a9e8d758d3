import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl health`: prints a verdict in one word and its reasons.
struct HealthCommand: Command {
    static let standard = HealthThresholds()

    static let degradedAge = OptionSpecification(
        "degraded-after", value: "TIME", "Degraded if a record has been pending for TIME (default 15min)")
    static let failingAge = OptionSpecification(
        "failing-after", value: "TIME", "Failing if a record has been pending for TIME (default 6h)")

    static let specification = CommandSpecification(
        name: "health", summary: "Show in one word whether the daemon is healthy, and why not",
        sections: [("Options", [degradedAge, failingAge, CommonOptions.shortTimeout])],
        notes: [
            "Prints healthy, degraded, failing or unknown, and the reasons. failing: reports are refused, the database "
                + "cannot be opened, a record has waited too long for a destination, or the daemon does not reply. "
                + "degraded: a destination is paused or late, a record became a dead letter in the last 24 hours and "
                + "its destination has accepted nothing since, a report was refused in the last 15 minutes, or the "
                + "store, the configuration or the ledger has a fault. unknown: you may not see enough to tell; run it "
                + "as root, as the daemon's user, or as a member of a group in Readers=.",
            "Exits with 0 if healthy, with 1 if degraded or unknown, and with 2 if failing.",
        ],
        examples: ["issuectl health", "issuectl health --degraded-after 1h --json"])

    private var thresholds = Self.standard
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        if let age = try arguments.duration(Self.degradedAge) { thresholds.degradedAge = age }
        if let age = try arguments.duration(Self.failingAge) { thresholds.failingAge = age }
        if arguments.has(Self.degradedAge), arguments.has(Self.failingAge),
            thresholds.degradedAge > thresholds.failingAge
        {
            throw UsageError("--degraded-after must not be longer than --failing-after")
        }
        timeout = try arguments.duration(CommonOptions.shortTimeout) ?? .seconds(5)
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let report = report(in: context)
        switch context.format {
        case .human: try context.print(lines(report))
        case .json, .lines: try context.print(json: report.json)
        }
        return switch report.verdict.code {
        case 0: .success
        case 1: .refused
        default: .failing
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

    /// The verdict with the first reason on one line, and each further reason on a line of its own.
    private func lines(_ report: HealthReport) -> [String] {
        guard let first = report.findings.first else { return [report.verdict.rawValue] }
        return ["\(report.verdict.rawValue): \(TerminalSanitizer.line(first.message))"]
            + report.findings.dropFirst().map { "  \($0.verdict.rawValue): \(TerminalSanitizer.line($0.message))" }
    }
}
