import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl doctor`: checks the host and the daemon, and shows what is wrong and how to fix it.
struct DoctorCommand: Command {
    static let list = OptionSpecification("list", "List the checks")

    static let specification = CommandSpecification(
        name: "doctor", summary: "Check the daemon and its host, and show how to fix what is wrong",
        operands: .any("CHECK"), operandSources: [.words(DoctorCheck.all.map(\.id))],
        sections: [("Options", [list, CommonOptions.shortTimeout])],
        notes: [
            "Without CHECK, all checks are made. Each is ok, skipped, a note, a warning or a problem; warnings and "
                + "problems are shown with the command or the change that fixes them. Run it as root: other users do "
                + "not see everything, and some checks are skipped.",
            "Exits with 1 if there is a warning or a problem.",
        ],
        examples: ["sudo issuectl doctor", "issuectl doctor socket disk --json", "issuectl doctor --list"])

    private let checks: [DoctorCheck]
    private let isList: Bool
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        let all = DoctorCheck.all
        for name in arguments.operands where !all.contains(where: { $0.id == name }) {
            let nearest = NearestName.suggestion(for: name, among: all.map(\.id))
            throw UsageError("unknown check '\(name)'\(nearest)")
        }
        checks = arguments.operands.isEmpty ? all : all.filter { arguments.operands.contains($0.id) }
        isList = arguments.has(Self.list)
        timeout = try arguments.duration(CommonOptions.shortTimeout) ?? .seconds(5)
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        if isList {
            let width = checks.map(\.id.count).max() ?? 0
            switch context.format {
            case .human: try context.print(checks.map { "\(Fitting.pad($0.id, to: width))  \($0.summary)" })
            case .json: try context.print(json: JSONValue.array(checks.map(json)).json)
            case .lines: for check in checks { try context.print(json: json(check).json) }
            }
            return .success
        }
        let results = context.doctorFacts(timeout: timeout)
        let report = DoctorReport(checks, facts: results)
        switch context.format {
        case .human: try context.print(report.lines(painter: context.painter))
        case .json: try context.print(json: JSONValue.object([.init("checks", .array(report.json))]).json)
        case .lines: for check in report.json { try context.print(json: check.json) }
        }
        return report.isFine ? .success : .refused
    }

    private func json(_ check: DoctorCheck) -> JSONValue {
        .object([.init("id", .string(check.id)), .init("summary", .string(check.summary))])
    }
}

extension CommandContext {
    /// Collects the facts for the checks.
    ///
    /// - Parameters:
    ///   - timeout: The maximum time to wait for the daemon.
    ///   - filter: Changes the status before it is used.
    func doctorFacts(
        timeout: Duration, filter: (DaemonStatus) -> DaemonStatus = { $0 }
    ) -> DoctorFacts {
        DoctorFacts.collect(sockets: SocketPath.candidates(socket), now: now) { () throws(CollectorConnectionError) in
            let session = BrowserSession<CollectorConnectionError>(link: try connect()) { $0 }
            return filter(try session.call(CollectorCalls.status, timeout: timeout).value)
        }
    }
}

/// The findings of all checks.
struct DoctorReport {
    /// Each check with its findings, which are nil if the check was not possible.
    let results: [(check: DoctorCheck, findings: [DoctorFinding]?)]
    private let facts: DoctorFacts

    init(_ checks: [DoctorCheck], facts: DoctorFacts) {
        results = checks.map { ($0, $0.findings(facts)) }
        self.facts = facts
    }

    /// Returns the reason for which a check was not possible.
    private func reasonForSkipping(_ check: DoctorCheck) -> String {
        switch check.id {
        case "permissions": return "there is no socket"
        case "unit": return "issued.service is not installed"
        default: break
        }
        guard let daemon = facts.daemon else { return "the daemon does not answer" }
        if daemon.store.id.isEmpty { return "the database cannot be opened" }
        return daemon.store.bytes == nil
            ? "only root, readers and operators see this" : "the daemon does not report this"
    }

    /// `true` if there is no warning and no problem.
    var isFine: Bool { count(.warning) + count(.problem) == 0 }

    private func count(_ severity: DoctorFinding.Severity) -> Int {
        results.reduce(0) { $0 + ($1.findings ?? []).count { $0.severity == severity } }
    }

    /// The output for users: a line for each check without findings, and two lines for each finding.
    func lines(painter: Painter) -> [String] {
        let width = results.map(\.check.id.count).max() ?? 0
        var lines: [String] = []
        for (check, findings) in results {
            let name = Fitting.pad(check.id, to: width)
            guard let findings else {
                lines.append("\(name)  skipped: \(reasonForSkipping(check))")
                continue
            }
            if findings.isEmpty { lines.append("\(name)  ok") }
            for finding in findings {
                let style: TextStyle =
                    switch finding.severity {
                    case .note: .plain
                    case .warning: .warning
                    case .problem: .error
                    }
                let text = "\(finding.severity.rawValue): \(TerminalSanitizer.line(finding.message))"
                lines.append("\(name)  \(painter(text, style))")
                lines.append("\(Fitting.pad("", to: width))  fix: \(TerminalSanitizer.line(finding.fix))")
            }
        }
        let sum = [(DoctorFinding.Severity.problem, "problem"), (.warning, "warning")].compactMap { severity, name in
            count(severity) > 0 ? Quantity.text(count(severity), name) : nil
        }
        lines.append(
            "\(sum.isEmpty ? "No problem" : sum.joined(separator: ", ")) in \(Quantity.text(results.count, "check")).")
        return lines
    }

    var json: [JSONValue] {
        results.map { check, findings in
            let state = findings.map { $0.map(\.severity.rawValue).max { Self.rank($0) < Self.rank($1) } ?? "ok" }
            let reason =
                findings == nil ? [JSONValue.Member("reason", .string(reasonForSkipping(check)))] : []
            return .object(
                [
                    .init("id", .string(check.id)), .init("state", .string(state ?? "skipped")),
                    .init(
                        "findings",
                        .array(
                            (findings ?? []).map {
                                .object([
                                    .init("severity", .string($0.severity.rawValue)),
                                    .init("message", .string($0.message)),
                                    .init("fix", .string($0.fix)),
                                ])
                            })),
                ] + reason)
        }
    }

    private static func rank(_ severity: String) -> Int {
        DoctorFinding.Severity(rawValue: severity).flatMap { DoctorFinding.Severity.allCases.firstIndex(of: $0) } ?? -1
    }
}
