import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl notify`: lists notifiers and tests them.
struct NotifyCommand: Command {
    private enum Action: String, CaseIterable {
        case list, test
    }

    static let specification = CommandSpecification(
        name: "notify", summary: "List notifiers or send a test message", operands: .any("list|test] [NAME"),
        operandSources: [.words(Action.allCases.map(\.rawValue)), .notifiers],
        notes: [
            "list (the default) shows what each notifier has delivered. test NAME sends a test message once and "
                + "shows the answer; it exits with 1 if the message was not accepted. Notifiers are configured in "
                + "[Notify NAME] sections; see issued.conf(5)."
        ],
        examples: ["issuectl notify", "issuectl notify test oncall"])

    private let action: Action
    private let name: String

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        action = try arguments.action(default: .list)
        let names = arguments.operands.dropFirst()
        switch action {
        case .list where !names.isEmpty: throw UsageError("list takes no NAME (did you mean notify test?)")
        case .test where names.isEmpty: throw UsageError("missing argument NAME")
        case .test where names.count > 1: throw UsageError("test takes one NAME")
        case .list, .test: break
        }
        name = arguments.operands.count > 1 ? arguments.operands[1] : ""
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        switch action {
        case .list:
            let answer = try context.collector().call(CollectorCalls.status)
            let store = answer.value.store
            // Without the database, only the path shows that the caller may see everything.
            guard store.bytes != nil || store.id.isEmpty && store.path != nil else {
                throw CommandFailure(.refused, CommandFailure.deniedToSee("notifiers"))
            }
            try context.print("notifiers", answer.elements(of: "notifiers")) {
                guard !answer.value.notifiers.isEmpty else { return ["No notifier configured."] }
                var page = TextPage(painter: context.painter)
                for notifier in answer.value.notifiers {
                    page.add(notifier, hasCounts: !store.id.isEmpty, now: context.now)
                }
                return page.lines
            }
        case .test:
            let collector = try context.collector(notFound: { unknown in
                let status = try? context.collector().call(CollectorCalls.status).value
                let names = (status?.notifiers ?? []).map(\.name).joined(separator: ", ")
                return "no notifier named '\(unknown)' is running\(names.isEmpty ? "" : " (configured: \(names))"): "
                    + "see issuectl status and issued --check"
            })
            let answer = try collector.call(CollectorCalls.testNotifier, TestNotifierParameters(notifier: name))
            try context.print(answer) { reply in
                [
                    TerminalSanitizer.line(
                        "\(name): \(reply.delivered ? "delivered" : "not delivered") (\(reply.answer))")
                ]
            }
            if !answer.value.delivered { throw CommandFailure(.refused, nil) }
        }
    }
}

extension TextPage {
    /// Adds the state of a notifier to the output of `status` or `notify`. Its counts are unknown without the database.
    mutating func add(_ notifier: NotifierStatus, hasCounts: Bool, now: IssueTimestamp) {
        heading("Notifier \(notifier.name)\(notifier.format.isEmpty ? "" : " (\(notifier.format))")")
        var events = "\(Quantity.text(notifier.delivered)) of \(Quantity.text(notifier.received, "event")) delivered"
        if notifier.pending > 0 { events += ", \(Quantity.text(notifier.pending)) pending" }
        if notifier.givenUp > 0 { events += ", \(Quantity.text(notifier.givenUp)) given up" }
        if notifier.silenced > 0 { events += "; \(Quantity.text(notifier.silenced)) more silenced" }
        var messages = Quantity.text(notifier.messages, "message")
        if notifier.repeated > 0 { messages += ", \(Quantity.text(notifier.repeated)) perhaps received twice" }
        fields(
            [
                ("State", notifier.state.rawValue + (notifier.reason.map { ": \($0)" } ?? "")),
                ("Advice", notifier.advice),
                ("Events", hasCounts ? events : nil),
                ("Messages", hasCounts ? messages : nil),
                ("Oldest pending", notifier.oldestPending.map { PageTime.full($0, now: now) }),
                ("Next attempt", notifier.nextAttempt.map { RelativeTime.text($0, now: now) }),
                ("Last answer", notifier.lastAnswer),
                ("Last success", notifier.lastSuccess.map { PageTime.full($0, now: now) }),
                (
                    "Last given up",
                    notifier.lastGivenUp.map {
                        PageTime.full($0, now: now) + (notifier.deliversNothing ? ", nothing delivered since" : "")
                    }
                ),
            ],
            styles: [
                "State": notifier.state.style, "Advice": .warning,
                "Last given up": notifier.deliversNothing ? .warning : .plain,
            ])
    }
}

/// `issuectl silence`: adds, lists and ends silences.
struct SilenceCommand: Command {
    private enum Action: String, CaseIterable {
        case list, add, end
    }

    static let reason = OptionSpecification("reason", value: "TEXT", "The reason, which is shown in the list")

    static let specification = CommandSpecification(
        name: "silence", summary: "Silence notifications for a time, or list silences",
        operands: .any("list|add|end] [ID"),
        operandSources: [.words(Action.allCases.map(\.rawValue)), .silences],
        sections: [
            (
                "Issues",
                [FilterOptions.app, FilterOptions.environment, FilterOptions.unit, FilterOptions.group]
            ), ("Silence", [EndOptions.duration, EndOptions.until, reason]),
        ],
        notes: [
            "list (the default) shows the silences in effect. SILENCED counts an event once for each notifier "
                + "that would have reported it. end ID... ends silences early. "
                + CommandSpecification.severalNote("end"),
            "add needs an end, a reason and at least one option that selects issues. The name of an "
                + "application, environment or unit may end with *. Silenced issues are stored, counted and forwarded "
                + "as usual. A silence lasts \(IssueSilence.maxDays) days at most.",
            EndOptions.note,
        ],
        examples: [
            "issuectl silence", "issuectl silence add --app shop --for 2h --reason 'database migration'",
            "issuectl silence end s3",
        ])

    private let action: Action
    private let ids: [String]
    private var silence: IssueSilence

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        action = try arguments.action(default: .list)
        ids = Array(arguments.operands.dropFirst())
        silence = IssueSilence(until: now, reason: "")
        switch action {
        case .list, .add:
            guard arguments.operands.count <= 1 else { throw UsageError("\(action.rawValue) takes no ID") }
        case .end:
            guard arguments.operands.count >= 2 else { throw UsageError("missing argument ID") }
        }
        guard action == .add else {
            let ofAdd = [
                FilterOptions.app, FilterOptions.environment, FilterOptions.unit, FilterOptions.group,
                EndOptions.duration, EndOptions.until, Self.reason,
            ]
            if let option = ofAdd.first(where: arguments.has) {
                let hint = action == .list ? " (did you mean silence add?)" : ""
                throw UsageError("\(option.spelling) is only for add\(hint)")
            }
            return
        }
        silence.apps = arguments.all(FilterOptions.app) ?? []
        silence.environments = arguments.all(FilterOptions.environment) ?? []
        silence.units = arguments.all(FilterOptions.unit)?.map(FilterOptions.unitName) ?? []
        silence.groups = arguments.all(FilterOptions.group) ?? []
        guard ![silence.apps, silence.environments, silence.units, silence.groups].allSatisfy(\.isEmpty) else {
            throw UsageError("select issues with --app, --environment, --unit or --group")
        }
        try AbbreviatedID.check(silence.groups)
        for name in silence.apps + silence.environments + silence.units where name.dropLast().contains("*") {
            throw UsageError("invalid name '\(name)': only its last character can be *")
        }
        guard let end = try EndOptions.end(arguments, at: now) else {
            throw UsageError("give an end with --for or --until")
        }
        guard end <= now.advanced(by: .seconds(IssueSilence.maxDays * 86_400)) else {
            throw UsageError("a silence lasts \(IssueSilence.maxDays) days at most")
        }
        guard let reason = arguments[Self.reason], !reason.isEmpty else {
            throw UsageError("give a reason with --reason")
        }
        (silence.until, silence.reason) = (end, reason)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        switch action {
        case .list:
            let answer = try context.collector(denied: CommandFailure.deniedToSee("silences")).call(
                CollectorCalls.listSilences)
            try context.print(answer, elements: "silences") { lines($0.silences, context) }
        case .add:
            var silence = silence
            silence.groups = try AbbreviatedID.completed(silence.groups, in: context)
            let answer = try context.collector().call(CollectorCalls.addSilence, AddSilenceMessage(silence: silence))
            try context.print(answer) { lines([$0.silence], context) }
        case .end: try end(in: context)
        }
    }

    /// Ends the silences one by one. As JSON, prints only the last reply, which contains the remaining silences.
    private func end(in context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector(
            notFound: { "no silence '\($0)' is in effect: issuectl silence list shows the ids, such as s1" })
        var last: BrowserReply<SilencesReply>?
        let failure = context.forEach(ids) { id throws(CommandFailure) in
            last = try collector.call(CollectorCalls.endSilence, IDParameters(id: id))
            try context.printNote(TerminalSanitizer.line("\(id) has ended."))
        }
        if context.format != .human, let last { try context.print(json: last.json) }
        if let failure { throw failure }
    }

    private func lines(_ silences: [IssueSilence], _ context: CommandContext) -> [String] {
        guard !silences.isEmpty else { return ["No silences."] }
        var table = context.table([
            Column("ID"), Column("UNTIL"), Column("SILENCED", alignment: .right), Column("ISSUES", minimum: 12),
            Column("BY", expendability: 1), Column("REASON", minimum: 12),
        ])
        return table.lines(
            silences.map { silence in
                let parts = [
                    ("app", silence.apps), ("env", silence.environments), ("unit", silence.units),
                    ("group", silence.groups),
                ]
                let issues = parts.filter { !$0.1.isEmpty }.map { "\($0.0) \($0.1.joined(separator: ","))" }
                return [
                    Cell(silence.id), Cell(RelativeTime.text(silence.until, now: context.now)),
                    Cell(Quantity.text(silence.count)), Cell(issues.joined(separator: " ")),
                    Cell("user \(context.user(silence.uid))"), Cell(silence.reason),
                ]
            })
    }
}
