import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl resolve`: marks groups as resolved.
struct ResolveCommand: StateCommand {
    static let specification = CommandSpecification(
        name: "resolve", summary: "Mark issues as resolved", operands: .several("GROUP"),
        operandSources: [.groups],
        sections: [("Version with the fix", [fixedIn, fixedInNext, fixedInNewer]), ("Note", [note])],
        notes: [
            "The next record of a resolved issue reopens it. The regression is logged, and the record is "
                + "forwarded ahead of any backlog. With --in, --in-next or --until-newer-version, records of versions "
                + "without the fix do not reopen the issue. A version counts as later if it was deployed later "
                + "(issuectl deploy) and does not have a lower number. If no deployment was declared, versions are "
                + "compared by their numbers; a version that is not a number counts as later if it differs, unless its "
                + "first report was the most recent when the issue was resolved. With --in, it instead counts as later "
                + "if it was first reported after VERSION.",
            severalNote,
        ],
        examples: [
            "issuectl resolve g92c9da597585468b", "issuectl resolve g92c9da597585468b --in 2.4.0",
            "issuectl resolve g92c9da597585468b --in-next",
        ])

    static let fixedIn = OptionSpecification("in", value: "VERSION", "VERSION and later versions have the fix")
    static let fixedInNext = OptionSpecification("in-next", "The next deployment and later ones have the fix")
    static let fixedInNewer = OptionSpecification(
        "until-newer-version", "Only versions newer than all seen so far have the fix")

    let groups: [String]
    let parameters: SetStateParameters

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        groups = arguments.operands
        let version = try arguments.value(
            of: Self.fixedIn, expected: "a version of 1 to \(IssueDeployment.maxVersionBytes) bytes"
        ) { text in (1...IssueDeployment.maxVersionBytes).contains(text.utf8.count) ? text : nil }
        parameters = SetStateParameters(
            group: "", state: .resolved,
            untilNewerVersion: arguments.has(Self.fixedInNewer) ? true : nil, resolvedIn: version,
            isResolvedInNext: arguments.has(Self.fixedInNext) ? true : nil, note: try StateNote.text(arguments))
        let given = [arguments[Self.fixedIn] != nil, arguments.has(Self.fixedInNext), arguments.has(Self.fixedInNewer)]
        if given.count(where: { $0 }) > 1 {
            throw UsageError("--in, --in-next and --until-newer-version cannot be used together")
        }
    }
}

/// `issuectl mute`: stops forwarding the records of groups.
struct MuteCommand: StateCommand {
    static let untilNewer = OptionSpecification(
        "until-newer-version", "Until a version newer than all seen so far reports the issue")
    static let untilCount = OptionSpecification("until-count", value: "NUMBER", "Until NUMBER further occurrences")

    static let specification = CommandSpecification(
        name: "mute", summary: "Stop forwarding issues, but store and count them", operands: .several("GROUP"),
        operandSources: [.groups],
        sections: [
            ("Duration", [EndOptions.duration, EndOptions.until, untilCount, untilNewer]), ("Note", [note]),
        ],
        notes: [
            "New records of a muted issue are withheld from all destinations. They are not sent later, even if "
                + "the issue is reopened. Unless an end is given, an issue stays muted until it is reopened.",
            EndOptions.note, severalNote,
        ],
        examples: [
            "issuectl mute g92c9da597585468b --for 2h --note 'Until the vendor has answered'",
            "issuectl mute g92c9da597585468b --until 2026-12-01",
        ])

    let groups: [String]
    let parameters: SetStateParameters

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        groups = arguments.operands
        parameters = SetStateParameters(
            group: "", state: .muted, until: try EndOptions.end(arguments, at: now),
            untilNewerVersion: arguments.has(Self.untilNewer) ? true : nil,
            untilCount: try arguments.integer(Self.untilCount, in: 1...1_000_000_000),
            note: try StateNote.text(arguments))
    }
}

/// `issuectl reopen`: reopens resolved or muted groups.
struct ReopenCommand: StateCommand {
    static let specification = CommandSpecification(
        name: "reopen", summary: "Reopen resolved or muted issues", operands: .several("GROUP"),
        operandSources: [.groups], sections: [("Note", [note])], notes: [severalNote],
        examples: ["issuectl list --state muted", "issuectl reopen g92c9da597585468b"])

    let groups: [String]
    let parameters: SetStateParameters

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        groups = arguments.operands
        parameters = SetStateParameters(group: "", state: .open, note: try StateNote.text(arguments))
    }
}

/// The options for the end of a mute or a silence.
enum EndOptions {
    static let duration = OptionSpecification("for", value: "SPAN", "For this time span")
    static let until = OptionSpecification("until", short: "U", value: "TIME", "Until this time")
    static let note =
        "SPAN is \(DurationExpression.formsWithUnit). TIME is \(TimeExpression.futureForms). Times are UTC unless they "
        + "have an offset."

    /// Returns the end time of `--for` or `--until`; nil if neither was given.
    static func end(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) -> IssueTimestamp? {
        if arguments.has(duration), arguments.has(until) {
            throw UsageError("--for and --until cannot be used together")
        }
        let expected = arguments[duration].map { DurationExpression.expectation(for: $0) }
        let span = try arguments.value(of: duration, expected: expected) { (text) -> Duration? in
            // A bare number would mean seconds, but the user more likely means hours or days.
            guard text.last?.isLetter == true else { return nil }
            return DurationExpression.duration(text).flatMap { $0 > .zero ? $0 : nil }
        }
        if let span { return now.advanced(by: span) }
        return try arguments.value(of: until, expected: "a future time: \(TimeExpression.futureForms)") { text in
            TimeExpression.futureMoment(text, now: now)
        }
    }
}

private let note = OptionSpecification(
    "note", value: "TEXT", "A note for other users, such as the reason (at most \(IssueStateChange.maxNoteBytes) bytes)"
)

/// The option `--note`.
private enum StateNote {
    /// Returns the note; nil without the option.
    ///
    /// - Throws: `UsageError` if the note is blank or longer than `IssueStateChange.maxNoteBytes`.
    static func text(_ arguments: ParsedArguments) throws(UsageError) -> String? {
        guard let text = arguments[note] else { return nil }
        let expected = "expected a text of 1 to \(IssueStateChange.maxNoteBytes) bytes"
        guard !text.allSatisfy(\.isWhitespace) else { throw UsageError("\(note.spelling) is blank; \(expected)") }
        guard text.utf8.count <= IssueStateChange.maxNoteBytes else {
            throw UsageError("\(note.spelling) has \(text.utf8.count) bytes; \(expected)")
        }
        return text
    }
}

private let severalNote = CommandSpecification.severalNote("the command")

/// A command that changes the state of groups and shows the result.
private protocol StateCommand: Command {
    /// The ids of the groups.
    var groups: [String] { get }
    /// The new state and its details. `run` sets `group` to the id of each group in turn.
    var parameters: SetStateParameters { get }
}

extension StateCommand {
    func run(in context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector()
        var changed: [[UInt8]] = []
        let failure = context.forEach(groups) { id throws(CommandFailure) in
            let answer = try set(id, collector, context)
            switch context.format {
            case .json where groups.count > 1:
                changed.append((try? JSONValue(json: answer.json))?["group"]?.json ?? [])
            default: try context.print(answer) { [line($0.group, now: context.now)] }
            }
        }
        try context.finish(groups, "groups", changed, failure)
    }

    private func set(
        _ id: String, _ collector: Collector, _ context: CommandContext
    ) throws(CommandFailure) -> BrowserReply<SetStateReply> {
        do throws(CommandFailure) {
            return try AbbreviatedID.call(id, collector) { (id) throws(CommandFailure) in
                var parameters = parameters
                parameters.group = id
                return try collector.call(CollectorCalls.setState, parameters)
            }
        } catch {
            throw RecordOperand.failure(error, id, Self.specification.name, collector)
        }
    }

    /// Returns a line such as `g7 is muted until 2026-11-22T00:00:00.000Z (in 12 h): No space left on /srv`.
    private func line(_ group: IssueGroup, now: IssueTimestamp) -> String {
        var text = "\(group.id) is \(group.state.name)"
        if let version = group.resolvedIn { text += " in \(version)" }
        if group.isResolvedInNext { text += " in the next deployment" }
        if let until = group.mutedUntil { text += " until \(PageTime.full(until, now: now))" }
        var ends: [String] = []
        if let count = group.mutedUntilCount { ends.append("until \(Quantity.text(count, "further occurrence"))") }
        if parameters.untilNewerVersion == true { ends.append("until a newer version reports it") }
        for end in ends { text += text.contains(" until ") ? ", or \(end)" : " \(end)" }
        return TerminalSanitizer.line("\(text): \(group.title)")
    }
}

/// Handles an operand that is the id of a record although the command expects the id of a group.
enum RecordOperand {
    /// Returns the failure that the command throws. If the operand is the id of a record, the message names the group
    /// of the record.
    static func failure(
        _ failure: CommandFailure, _ operand: String, _ command: String, _ collector: Collector
    ) -> CommandFailure {
        guard failure.code == .refused, let group = group(of: operand, collector) else { return failure }
        return CommandFailure(.refused, "'\(operand)' is a record, not an issue: use issuectl \(command) \(group)")
    }

    /// Returns the id of the group of a record; nil if the operand is not the id of a record, or if the daemon does not
    /// return the record.
    static func group(of operand: String, _ collector: Collector) -> String? {
        guard operand.contains("-"),
            let details = try? collector.call(CollectorCalls.show, ShowParameters(id: operand)).value,
            details.record != nil
        else {
            return nil
        }
        return details.group.id
    }
}
