import IssueProtocol

/// `issuectl resolve`: says that what a group is about is mended.
struct ResolveCommand: Command {
    static let specification = CommandSpecification(
        "resolve", "Say that an issue is mended", operands: .one("GROUP"),
        sections: [.init("How long", [StateChange.untilNewerVersion])],
        notes: [
            "The next record of it opens the issue again, which the journal tells, and goes before any backlog. With "
                + "\(StateChange.untilNewerVersion.spelling), records of the versions that are out there do not."
        ],
        examples: [
            "issuectl resolve g92c9da597585468b", "issuectl resolve g92c9da597585468b --until-newer-version",
        ])

    private let change: StateChange

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        change = StateChange(
            SetStateParameters(
                group: arguments.operands.first ?? "", state: .resolved,
                untilNewerVersion: arguments.has(StateChange.untilNewerVersion) ? true : nil))
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        try change.run(in: context)
    }
}
