import IssueBrowsing
import IssueProtocol
import Issues

/// `issuectl purge`: erases what a filter matches, for good.
struct PurgeCommand: Command {
    static let dryRun = OptionSpecification("dry-run", short: "n", "Count only, and erase nothing")
    static let yes = OptionSpecification("yes", short: "y", "Do not ask")

    static let specification = CommandSpecification(
        "purge", "Erase records for good, and say where some of it is left",
        sections: [.init("Which", FilterOptions.ofRecords), .init("How", [dryRun, yes])],
        notes: [
            "Erases the records that all of the options match, and at least one must be given. It asks before; where "
                + "nobody can be asked, --yes is needed. " + FilterOptions.timeNote
        ],
        examples: ["issuectl purge --user 1001 --dry-run", "issuectl purge --app shop --until 2026-11-01 --yes"])

    private let filter: IssueFilter
    private let isDryRun: Bool
    private let isSure: Bool

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        guard let filter = try FilterOptions.filter(arguments, at: now) else {
            throw UsageError("which records? Without an option, all would be erased")
        }
        self.filter = filter
        isDryRun = arguments.has(Self.dryRun)
        isSure = arguments.has(Self.yes)
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector()
        if !isDryRun, !isSure {
            guard context.terminal.isTerminal, context.format == .human else {
                throw CommandFailure(.usage, "nobody can be asked here: give --yes, or count with --dry-run")
            }
            let count = try purge(isDryRun: true, collector, context).value.count
            guard count > 0 else {
                try context.print("Nothing matches.")
                return .success
            }
            guard try context.confirm("Erase \(Quantity.text(count, "record")) for good?") else {
                throw CommandFailure(.refused, "nothing was erased")
            }
        }
        let answer = try purge(isDryRun: isDryRun, collector, context)
        switch context.format {
        case .human: try context.print(lines(answer.value))
        case .json, .lines: try context.print(json: answer.json)
        }
        return .success
    }

    private func purge(
        isDryRun: Bool, _ collector: Collector, _ context: CommandContext
    ) throws(CommandFailure) -> Answer<PurgeReply> {
        let parameters = PurgeParameters(filter: filter, isDryRun: isDryRun ? true : nil)
        let answer: Answer<PurgeReply> = try collector.order(.purge, parameters.json) { reply in
            context.publishProgress("\(Quantity.text(reply.count, "record"))")
        }
        context.publishProgress("")
        return answer
    }

    private func lines(_ reply: PurgeReply) -> [String] {
        let count = Quantity.text(reply.count, "record")
        var lines = [isDryRun ? "\(count) would be erased." : "\(count) \(reply.count == 1 ? "was" : "were") erased."]
        guard !reply.unreachable.isEmpty else { return lines }
        lines.append("Not reached, and maybe with some of it:")
        lines += reply.unreachable.map { "  " + TerminalSanitizer.line($0) }
        return lines
    }
}
