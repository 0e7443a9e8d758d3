import IssueProtocol

/// One of the commands of `issuectl`.
protocol Command: Sendable, SendableMetatype {
    /// What the parser and help need to know.
    static var specification: CommandSpecification { get }

    /// Reads the command line; times without a date count from `now`.
    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError)

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode
}
