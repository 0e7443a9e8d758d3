import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl resolve`: marks groups as resolved.
struct ResolveCommand: StateCommand {
    static let specification = CommandSpecification(
        name: "resolve", summary: "Mark issues as resolved", operands: .several("GROUP"),
        operandSources: [.groups],
        sections: [("Version with the fix", [fixedIn, fixedInNext, untilNewerVersion]), ("Note", [note])],
        notes: [
            "The next record of an issue reopens it. This is logged, and the record is forwarded ahead of any backlog. "
                + "With an option, records of versions without the fix don't reopen it. The order of versions is that of "
                + "their deployments (issuectl deploy) or, if none was declared, that of their numbers."
        ],
        examples: [
            "issuectl resolve g92c9da597585468b", "issuectl resolve g92c9da597585468b --in 2.4.0",
            "issuectl resolve g92c9da597585468b --in-next",
        ])

    static let fixedIn = OptionSpecification("in", value: "VERSION", "This version and later ones have the fix")
    static let fixedInNext = OptionSpecification("in-next", "The next deployment and later ones have the fix")

    let groups: [String]
    let parameters: SetStateParameters

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        groups = arguments.operands
        let version = try arguments.value(
            of: Self.fixedIn, expected: "a version of 1 to \(IssueDeployment.maxVersionBytes) bytes"
        ) { text in (1...IssueDeployment.maxVersionBytes).contains(text.utf8.count) ? text : nil }
        parameters = SetStateParameters(
            group: "", state: .resolved,
            untilNewerVersion: arguments.has(untilNewerVersion) ? true : nil, resolvedIn: version,
            isResolvedInNext: arguments.has(Self.fixedInNext) ? true : nil, note: try StateNote.text(arguments))
        let given = [arguments[Self.fixedIn] != nil, arguments.has(Self.fixedInNext), arguments.has(untilNewerVersion)]
        if given.count(where: { $0 }) > 1 {
            throw UsageError("--in, --in-next and --until-newer-version cannot be used together")
        }
    }
}

/// `issuectl mute`: stops forwarding the records of groups.
struct MuteCommand: StateCommand {
    static let untilCount = OptionSpecification("until-count", value: "NUMBER", "Until NUMBER further occurrences")

    static let specification = CommandSpecification(
        name: "mute", summary: "Stop forwarding issues, but store and count them", operands: .several("GROUP"),
        operandSources: [.groups],
        sections: [
            ("Duration", [EndOptions.duration, EndOptions.until, untilCount, untilNewerVersion]), ("Note", [note]),
        ],
        notes: [
            "New records of the issue are withheld from all destinations, even if it is reopened later. Without an option, it "
                + "stays muted until it is reopened. \(EndOptions.note)"
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
            untilNewerVersion: arguments.has(untilNewerVersion) ? true : nil,
            untilCount: try arguments.integer(Self.untilCount, in: 1...1_000_000_000),
            note: try StateNote.text(arguments))
    }
}

/// `issuectl reopen`: reopens resolved or muted groups.
struct ReopenCommand: StateCommand {
    static let specification = CommandSpecification(
        name: "reopen", summary: "Reopen resolved or muted issues", operands: .several("GROUP"),
        operandSources: [.groups], sections: [("Note", [note])],
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
        "SPAN is \(DurationExpression.formsWithUnit). TIME is \(TimeExpression.futureForms), in UTC unless it has "
        + "an offset."

    /// Returns the end that the options give; nil if there is none.
    static func end(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) -> IssueTimestamp? {
        if arguments.has(duration), arguments.has(until) {
            throw UsageError("--for and --until cannot be used together")
        }
        let expected = arguments[duration].map { DurationExpression.expectation(for: $0) }
        let span = try arguments.value(of: duration, expected: expected) { (text) -> Duration? in
            // A bare number would be in seconds, and more likely means hours or days.
            guard text.last?.isLetter == true else { return nil }
            return DurationExpression.duration(text).flatMap { $0 > .zero ? $0 : nil }
        }
        if let span { return now.advanced(by: span) }
        return try arguments.value(of: until, expected: "a future time: \(TimeExpression.futureForms)") { text in
            TimeExpression.futureMoment(text, now: now)
        }
    }
}

private let untilNewerVersion = OptionSpecification(
    "until-newer-version", "Until a version newer than all seen so far reports it")

private let note = OptionSpecification(
    "note", value: "TEXT", "Why, for others to read (at most \(IssueStateChange.maxNoteBytes) bytes)")

/// The option `--note`.
private enum StateNote {
    /// Returns the note; nil without the option.
    ///
    /// - Throws: `UsageError` if the note is empty or longer than `IssueStateChange.maxNoteBytes`.
    static func text(_ arguments: ParsedArguments) throws(UsageError) -> String? {
        guard let text = arguments[note] else { return nil }
        let expected = "expected a text of 1 to \(IssueStateChange.maxNoteBytes) bytes"
        guard !text.allSatisfy(\.isWhitespace) else { throw UsageError("\(note.spelling) is empty; \(expected)") }
        guard text.utf8.count <= IssueStateChange.maxNoteBytes else {
            throw UsageError("\(note.spelling) has \(text.utf8.count) bytes; \(expected)")
        }
        return text
    }
}

/// A command that changes the state of groups and shows the result.
private protocol StateCommand: Command {
    /// The ids of the groups.
    var groups: [String] { get }
    /// The new state. Its `group` is replaced by each id.
    var parameters: SetStateParameters { get }
}

extension StateCommand {
    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector()
        var changed: [[UInt8]] = []
        var code = ExitCode.success
        for id in groups {
            do throws(CommandFailure) {
                let answer = try set(id, collector, context)
                switch context.format {
                case .json where groups.count > 1:
                    changed.append((try? JSONValue(json: answer.json))?["group"]?.json ?? [])
                default: try context.print(answer) { [line($0.group, now: context.now)] }
                }
            } catch {
                // The other groups are still changed, unless the daemon can't be asked.
                guard groups.count > 1, error.code == .refused, let message = error.message else {
                    if !changed.isEmpty { try context.print(json: PrettyJSON.document("groups", changed)) }
                    throw error
                }
                context.warn(message)
                code = .refused
            }
        }
        if context.format == .json, groups.count > 1 { try context.print(json: PrettyJSON.document("groups", changed)) }
        return code
    }

    private func set(
        _ id: String, _ collector: Collector, _ context: CommandContext
    ) throws(CommandFailure) -> BrowserReply<SetStateReply> {
        let answer: BrowserReply<SetStateReply>
        do throws(CommandFailure) {
            answer = try AbbreviatedID.call(id, collector) { (id) throws(CommandFailure) in
                var parameters = parameters
                parameters.group = id
                return try collector.call(CollectorCalls.setState, parameters)
            }
        } catch {
            throw RecordOperand.failure(error, id, Self.specification.name, collector)
        }
        let group = answer.value.group
        if parameters.resolvedIn != nil && group.resolvedIn == nil
            || parameters.isResolvedInNext == true && !group.isResolvedInNext
        {
            context.warn(
                "the daemon is older than issuectl: it ignored the version, and the next record reopens the issue")
        }
        if parameters.untilCount != nil, group.mutedUntilCount == nil {
            context.warn("the daemon is older than issuectl: it ignored --until-count, so the mute does not end by it")
        }
        if parameters.note != nil, group.stateChange == nil {
            context.warn("the daemon is older than issuectl: it ignored --note")
        }
        return answer
    }

    /// A line such as `g7 is muted until 2026-11-22T00:00:00.000Z (in 12 h): No space left on /srv`.
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

/// The id of a record where a command expects that of a group.
enum RecordOperand {
    /// Returns the failure to report. If the operand is the id of a record, its message names the record's group.
    static func failure(
        _ failure: CommandFailure, _ operand: String, _ command: String, _ collector: Collector
    ) -> CommandFailure {
        guard failure.code == .refused, let group = group(of: operand, collector) else { return failure }
        return CommandFailure(.refused, "'\(operand)' is a record, not an issue: use issuectl \(command) \(group)")
    }

    /// Returns the id of the group of a record; nil if the operand is not the id of a record that the user may see.
    static func group(of operand: String, _ collector: Collector) -> String? {
        guard operand.contains("-"),
            let details = try? collector.call(CollectorCalls.show, IDParameters(id: operand)).value,
            details.record != nil
        else {
            return nil
        }
        return details.group.id
    }
}

/// The beginning of a group's id where a command expects a whole one, as in `g92c9`.
enum AbbreviatedID {
    /// The minimum number of digits. With fewer, a typing error is more likely.
    private static let minDigits = 4
    private static let pageSize = 500
    /// The maximum number of pages of groups that are searched.
    private static let maxPages = 20

    /// Calls the daemon with an id. If nothing has this id, but the id of one group begins with it, calls the daemon
    /// with the group's id.
    ///
    /// - Throws: The failure of the call. If several groups begin with the id, a failure that lists some of them.
    static func call<Reply>(
        _ id: String, _ collector: Collector, _ request: (String) throws(CommandFailure) -> Reply
    ) throws(CommandFailure) -> Reply {
        do throws(CommandFailure) {
            return try request(id)
        } catch {
            guard error.code == .refused, isBeginning(id) else { throw failure(error, [id]) }
            guard let whole = try whole(id, collector) else { throw error }
            return try request(whole)
        }
    }

    /// Returns the ids, with each beginning replaced by the id of its group. Asks the daemon only if there are
    /// beginnings.
    ///
    /// - Throws: `CommandFailure` if no group or several groups begin with an id, or if the daemon cannot be asked.
    static func completed(_ ids: [String], in context: CommandContext) throws(CommandFailure) -> [String] {
        guard ids.contains(where: { isBeginning($0) }) else { return ids }
        let collector = try context.collector()
        var completed: [String] = []
        for id in ids {
            guard isBeginning(id) else {
                completed.append(id)
                continue
            }
            guard let whole = try whole(id, collector) else { throw notFound(id) }
            completed.append(whole)
        }
        return completed
    }

    /// Returns the filter with the beginnings of groups' ids replaced, as in the function above.
    static func completed(_ filter: IssueFilter?, in context: CommandContext) throws(CommandFailure) -> IssueFilter? {
        guard let groups = filter?.groups else { return filter }
        var wholeFilter = filter
        wholeFilter?.groups = try completed(groups, in: context)
        return wholeFilter
    }

    /// Returns the failure of a command with these ids. If the daemon did not find an id because it is too short, the
    /// message says so.
    static func failure(_ failure: CommandFailure, _ ids: [String]) -> CommandFailure {
        guard let id = ids.first(where: { isTooShort($0) && failure == notFound($0) }) else { return failure }
        return CommandFailure(.refused, tooShort(id))
    }

    /// Throws for the first id that is neither the id of a group nor the beginning of one.
    static func check(_ ids: [String]) throws(UsageError) {
        for id in ids where !IssueGroup.isID(id) && !isBeginning(id) {
            throw UsageError(isTooShort(id) ? tooShort(id) : "\"\(id)\" is not a group id")
        }
    }

    static func tooShort(_ id: String) -> String {
        "'\(id)' is too short: give at least \(minDigits) digits after the g"
    }

    /// Returns `true` for the beginning of a group's id with enough digits.
    static func isBeginning(_ id: String) -> Bool { isBeginning(id, digits: minDigits..<16) }

    static func isTooShort(_ id: String) -> Bool { isBeginning(id, digits: 1..<minDigits) }

    private static func notFound(_ id: String) -> CommandFailure {
        CommandFailure(CollectorConnectionError.refused(.notFound(id: id)))
    }

    /// Returns the id of the only group that begins with an id; nil if there is none.
    private static func whole(_ id: String, _ collector: Collector) throws(CommandFailure) -> String? {
        let found = try groups(id, collector)
        guard found.count > 1 else { return found.first }
        let shown = found.prefix(3).joined(separator: ", ") + (found.count > 3 ? ", …" : "")
        throw CommandFailure(.refused, "\(Quantity.text(found.count, "issue")) begin with '\(id)': \(shown)")
    }

    /// Returns `true` for a `g` followed by hexadecimal digits, whose number is in a range.
    static func isBeginning(_ id: String, digits counts: Range<Int>) -> Bool {
        let digits = id.utf8.dropFirst()
        return id.hasPrefix("g") && counts.contains(digits.count)
            && digits.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }

    /// Returns the ids that begin with a text, of the groups that were active last, at most 10,000.
    private static func groups(_ id: String, _ collector: Collector) throws(CommandFailure) -> [String] {
        var found: [String] = []
        var after: String?
        for _ in 0..<maxPages {
            let page = try collector.call(CollectorCalls.list, ListParameters(limit: pageSize, after: after)).value
            for group in page.groups where group.id.hasPrefix(id) { found.append(group.id) }
            after = page.next
            if after == nil { break }
        }
        return found
    }
}
