import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl purge`: permanently erases matching records.
struct PurgeCommand: Command {
    static let dryRun = OptionSpecification("dry-run", short: "n", "Only count, erase nothing")
    static let yes = OptionSpecification("yes", short: "y", "Do not ask for confirmation")

    static let specification = CommandSpecification(
        name: "purge", summary: "Erase records permanently",
        sections: [("Filter", FilterOptions.ofRecords), ("Options", [dryRun, yes])],
        hasTimeout: false,
        notes: [
            "Erases the records that match all of the options, and lists where copies may remain. At least one option "
                + "is required. Asks for confirmation; without a terminal, --yes is required. " + FilterOptions.timeNote
        ],
        examples: ["issuectl purge --user 1001 --dry-run", "issuectl purge --app shop --until 2026-11-01 --yes"])

    private let filter: IssueFilter
    /// The options that select the records, as the user gave them.
    private let conditions: String
    private let isDryRun: Bool
    private let skipsConfirmation: Bool

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        guard let filter = try FilterOptions.filter(arguments, at: now) else {
            throw UsageError("a filter is required: without one, all records would be erased")
        }
        self.filter = filter
        conditions = FilterOptions.ofRecords.flatMap { option in
            (arguments.all(option) ?? []).map { "\(option.spelling) \($0)" }
        }.joined(separator: " ")
        isDryRun = arguments.has(Self.dryRun)
        skipsConfirmation = arguments.has(Self.yes)
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector()
        if !isDryRun, !skipsConfirmation {
            guard context.terminal.isTerminal, context.format == .human else {
                throw CommandFailure(.usage, "cannot ask for confirmation: use --yes, or --dry-run to count")
            }
            let count = try purge(isDryRun: true, collector, context).value.count
            guard count > 0 else {
                try context.print("No records match.")
                return .success
            }
            let question = "Permanently erase \(Quantity.text(count, "record")) with \(conditions)?"
            guard try context.confirm(question) else {
                throw CommandFailure(.refused, "nothing was erased")
            }
        }
        let answer = try purge(isDryRun: isDryRun, collector, context)
        try context.print(answer, text: lines)
        return .success
    }

    private func purge(
        isDryRun: Bool, _ collector: Collector, _ context: CommandContext
    ) throws(CommandFailure) -> BrowserReply<PurgeReply> {
        let parameters = PurgeParameters(filter: filter, isDryRun: isDryRun ? true : nil)
        return try context.order(CollectorCalls.purge, parameters, on: collector) { Quantity.text($0.count, "record") }
    }

    private func lines(_ reply: PurgeReply) -> [String] {
        let count = Quantity.text(reply.count, "record")
        var lines = [isDryRun ? "\(count) would be erased." : "\(count) \(reply.count == 1 ? "was" : "were") erased."]
        guard !reply.unreachable.isEmpty else { return lines }
        lines.append("Copies may remain in:")
        lines += reply.unreachable.map { "  " + TerminalSanitizer.line($0) }
        return lines
    }
}
