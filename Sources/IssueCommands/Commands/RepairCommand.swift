import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl repair`: recovers records from databases that were moved aside.
struct RepairCommand: Command {
    static let list = OptionSpecification("list", short: "l", "Only list the databases")

    static let specification = CommandSpecification(
        name: "repair", summary: "Recover records from databases that were moved aside", operands: .optional("NAME"),
        operandSources: [.damagedDatabases],
        sections: [("Options", [list])],
        hasTimeout: false,
        notes: [
            "A database that could not be used is moved aside, as issues.db.damaged-TIME next to the current one. "
                + "Its readable records are stored again, as new records that name their old id and time; records that "
                + "were forwarded are not forwarded again. Without NAME, all such databases are read. Each "
                + "one is renamed afterwards, and kept."
        ],
        examples: ["issuectl repair --list", "issuectl repair issues.db.damaged-2026-11-21T13:17:14.967Z"])

    private let parameters: RepairParameters

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        let name = arguments.operands.first.map { $0.split(separator: "/").last.map { String($0) } ?? $0 }
        parameters = RepairParameters(file: name, isDryRun: arguments.has(Self.list) ? true : nil)
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector(
            notFound: { "no database '\($0)' was moved aside: see issuectl repair --list" })
        let answer = try context.order(
            CollectorCalls.repair, parameters, on: collector
        ) { reply in
            "\(Quantity.text(reply.recovered, "record")) recovered"
        }
        try context.print(answer, text: lines)
        return answer.value.hopeless.isEmpty ? .success : .refused
    }

    private func lines(_ reply: RepairReply) -> [String] {
        guard !reply.files.isEmpty else { return ["No database was moved aside."] }
        guard parameters.isDryRun != true else { return reply.files.map { TerminalSanitizer.line($0) } }
        var lines: [String] = []
        let read = reply.files.filter { !reply.hopeless.contains($0) }
        if !read.isEmpty {
            var text = "\(Quantity.text(reply.recovered, "record")) recovered"
            if reply.unreadable > 0 { text += ", \(Quantity.text(reply.unreadable)) could not be read" }
            lines += ["\(text), from:"] + read.map { "  \(TerminalSanitizer.line($0))" }
        }
        if !reply.hopeless.isEmpty {
            lines += ["Nothing could be read from these; they are unchanged (see journalctl -u issued):"]
            lines += reply.hopeless.map { "  \(TerminalSanitizer.line($0))" }
        }
        return lines
    }
}
