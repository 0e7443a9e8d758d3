import IssueProtocol

/// `issuectl mute`: has nobody told of a group any more.
struct MuteCommand: Command {
    static let duration = OptionSpecification("for", value: "SPAN", "For so long")
    static let until = OptionSpecification("until", short: "U", value: "TIME", "Until then")

    static let specification = CommandSpecification(
        "mute", "Store and count an issue, and tell nobody", operands: .one("GROUP"),
        sections: [.init("How long", [duration, until, StateChange.untilNewerVersion])],
        notes: [
            "What comes in of it is withheld from all destinations, also when it is reopened. Without an option it is "
                + "muted until it is reopened. A SPAN is \(DurationExpression.forms), a TIME is RFC 3339 or a date. Days "
                + "begin at midnight UTC."
        ],
        examples: ["issuectl mute g92c9da597585468b --for 2h", "issuectl mute g92c9da597585468b --until 2026-12-01"])

    private let change: StateChange

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        change = StateChange(
            SetStateParameters(
                group: arguments.operands.first ?? "", state: .muted, until: try Self.end(arguments, at: now),
                untilNewerVersion: arguments.has(StateChange.untilNewerVersion) ? true : nil))
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        try change.run(in: context)
    }

    private static func end(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) -> Timestamp? {
        if let text = arguments[duration] {
            guard arguments[until] == nil else { throw UsageError("--for and --until exclude each other") }
            guard let span = DurationExpression.duration(text), span > .zero else {
                throw UsageError(text, of: duration, expected: DurationExpression.forms)
            }
            return now.advanced(by: span)
        }
        guard let text = arguments[until] else { return nil }
        guard let end = TimeExpression.moment(text, now: now), end > now else {
            throw UsageError(text, of: until, expected: "a time to come: RFC 3339 or a date")
        }
        return end
    }
}
