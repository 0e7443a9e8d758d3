import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl resolve`: marks a group as resolved.
struct ResolveCommand: Command {
    static let specification = CommandSpecification(
        "resolve", "Mark an issue as resolved", operands: .one("GROUP"),
        sections: [.init("Duration", [StateChange.untilNewerVersion])],
        notes: [
            "The next record of the issue reopens it. This is logged, and the record is forwarded ahead of any backlog. "
                + "With \(StateChange.untilNewerVersion.spelling), only records of newer versions reopen it."
        ],
        examples: [
            "issuectl resolve g92c9da597585468b", "issuectl resolve g92c9da597585468b --until-newer-version",
        ])

    private let change: StateChange

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        change = StateChange(
            SetStateParameters(
                group: arguments.operands.first ?? "", state: .resolved,
                untilNewerVersion: arguments.has(StateChange.untilNewerVersion) ? true : nil))
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        try change.run(in: context)
    }
}

/// `issuectl mute`: stops forwarding the records of a group.
struct MuteCommand: Command {
    static let duration = OptionSpecification("for", value: "SPAN", "For this time span")
    static let until = OptionSpecification("until", short: "U", value: "TIME", "Until this time")

    static let specification = CommandSpecification(
        "mute", "Stop forwarding an issue, but store and count it", operands: .one("GROUP"),
        sections: [.init("Duration", [duration, until, StateChange.untilNewerVersion])],
        notes: [
            "New records of the issue are withheld from all destinations, even if it is reopened later. Without an option, it "
                + "stays muted until it is reopened. SPAN is \(DurationExpression.forms), TIME is RFC 3339 or a date. Days "
                + "begin at midnight UTC."
        ],
        examples: ["issuectl mute g92c9da597585468b --for 2h", "issuectl mute g92c9da597585468b --until 2026-12-01"])

    private let change: StateChange

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        change = StateChange(
            SetStateParameters(
                group: arguments.operands.first ?? "", state: .muted, until: try Self.end(arguments, at: now),
                untilNewerVersion: arguments.has(StateChange.untilNewerVersion) ? true : nil))
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        try change.run(in: context)
    }

    private static func end(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) -> IssueTimestamp?
    {
        if let text = arguments[duration] {
            guard arguments[until] == nil else { throw UsageError("--for and --until cannot be used together") }
            guard let span = DurationExpression.duration(text), span > .zero else {
                throw UsageError(text, of: duration, expected: DurationExpression.forms)
            }
            return now.advanced(by: span)
        }
        guard let text = arguments[until] else { return nil }
        guard let end = TimeExpression.moment(text, now: now), end > now else {
            throw UsageError(text, of: until, expected: "a future time: RFC 3339 or a date")
        }
        return end
    }
}

/// `issuectl reopen`: reopens a resolved or muted group.
struct ReopenCommand: Command {
    static let specification = CommandSpecification(
        "reopen", "Reopen a resolved or muted issue", operands: .one("GROUP"),
        examples: ["issuectl list --state muted", "issuectl reopen g92c9da597585468b"])

    private let change: StateChange

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        change = StateChange(SetStateParameters(group: arguments.operands.first ?? "", state: .open))
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        try change.run(in: context)
    }
}

/// Changes the state of a group and shows the result. Shared by `resolve`, `mute` and `reopen`.
struct StateChange {
    static let untilNewerVersion = OptionSpecification(
        "until-newer-version", "Until a version newer than all seen so far reports it")

    private let parameters: SetStateParameters

    init(_ parameters: SetStateParameters) {
        self.parameters = parameters
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let answer = try context.collector().setState(parameters)
        switch context.format {
        case .human: try context.print(line(answer.value.group, now: context.now))
        case .json, .lines: try context.print(json: answer.json)
        }
        return .success
    }

    /// A line such as `g7 is muted until 2026-11-22T00:00:00.000Z (in 12 h): No space left on /srv`.
    private func line(_ group: IssueGroup, now: IssueTimestamp) -> String {
        var text = "\(group.id) is \(group.state.name)"
        if let until = group.mutedUntil { text += " until \(PageTime.full(until, now: now))" }
        if parameters.untilNewerVersion == true {
            text +=
                group.mutedUntil == nil ? " until a newer version reports it" : ", or until a newer version reports it"
        }
        return TerminalSanitizer.line("\(text): \(group.title)")
    }
}

/// The title of a group, with its state unless it is open.
enum GroupTitle {
    static func text(_ group: IssueGroup) -> String {
        switch group.state {
        case .open: group.hasRegressed ? "[regressed] \(group.title)" : group.title
        case .resolved: "[resolved] \(group.title)"
        case .muted: "[muted] \(group.title)"
        }
    }
}
