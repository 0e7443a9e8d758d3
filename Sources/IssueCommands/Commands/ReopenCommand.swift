import IssueProtocol

/// `issuectl reopen`: takes back what was said of a group.
struct ReopenCommand: Command {
    static let specification = CommandSpecification(
        "reopen", "Take back that an issue is resolved or muted", operands: .one("GROUP"),
        examples: ["issuectl list --state muted", "issuectl reopen g92c9da597585468b"])

    private let change: StateChange

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        change = StateChange(SetStateParameters(group: arguments.operands.first ?? "", state: .open))
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        try change.run(in: context)
    }
}
