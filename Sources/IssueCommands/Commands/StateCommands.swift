import IssueBrowsing
import IssueProtocol
import Issues

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

/// Says something of a group, and shows it as it is then: what `resolve`, `mute` and `reopen` have in common.
struct StateChange {
    static let untilNewerVersion = OptionSpecification(
        "until-newer-version", "Until a version of the application shows it that is newer than all so far")

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

    /// `g7 is muted until 2026-11-22T00:00:00.000Z (in 12 h): No space left on /srv`.
    private func line(_ group: IssueGroup, now: Timestamp) -> String {
        var text = "\(group.id) is \(group.state.name)"
        if let until = group.mutedUntil { text += " until \(PageTime.full(until, now: now))" }
        if parameters.untilNewerVersion == true {
            text += group.mutedUntil == nil ? " until a newer version shows it" : ", or until a newer version shows it"
        }
        return TerminalSanitizer.line("\(text): \(group.title)")
    }
}

/// The title of a group, with what sets it apart from an open one.
enum GroupTitle {
    static func text(_ group: IssueGroup) -> String {
        switch group.state {
        case .open: group.regressed ? "[regressed] \(group.title)" : group.title
        case .resolved: "[resolved] \(group.title)"
        case .muted: "[muted] \(group.title)"
        }
    }
}
