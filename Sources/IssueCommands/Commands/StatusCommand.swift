import IssueBrowsing
import IssueProtocol
import Issues

/// `issuectl status`: how the daemon, its store and its destinations are.
struct StatusCommand: Command {
    static let specification = CommandSpecification(
        "status", "Show how the daemon, its store and its destinations are",
        notes: [
            "The ledger counts records since each destination exists. It balances: what was received is the sum of all fates. "
                + "Exits with 1 where the store has a fault."
        ],
        examples: ["issuectl status", "issuectl status --json"])

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {}

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let answer = try context.collector().status()
        switch context.format {
        case .human:
            let page = StatusPage(answer.value, now: context.now, width: context.width, painter: context.painter)
            try context.print(page.lines)
        case .json, .lines: try context.print(json: answer.json)
        }
        // Whoever watches over the host asks for this alone.
        return answer.value.store.faults.isEmpty ? .success : .refused
    }
}
