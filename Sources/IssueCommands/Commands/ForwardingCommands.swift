import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl flush`: forwards pending records now and shows the result.
struct FlushCommand: Command {
    static let timeout = OptionSpecification(
        "timeout", value: "TIME", "Maximum time to wait (default 30s)")

    static let specification = CommandSpecification(
        name: "flush", summary: "Forward pending records now and show the result", operands: .optional("DESTINATION"),
        operandSources: [.destinations],
        sections: [("Options", [timeout])],
        notes: [
            "Sends pending records and corrections now instead of at the next scheduled attempt, and waits until none "
                + "of them is pending. For each destination, the output shows the fates since the command began. "
                + "Without DESTINATION, all destinations are flushed. A paused destination gets one attempt; if it "
                + "fails, the command stops waiting for that destination. A wait that the destination has requested "
                + "(Retry-After) is not shortened; the output shows when it ends.",
            "Exits with 75 if records or corrections from before the command are still pending. Otherwise, exits with "
                + "1 if records or corrections became dead letters since the command began, or if no destination is in "
                + "use and the configuration has an error. Destinations that are no longer configured are ignored.",
        ],
        examples: ["issuectl flush", "issuectl flush logzio --timeout 2min"])

    private let destination: String?
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        destination = arguments.operands.first
        timeout = try arguments.duration(Self.timeout) ?? .seconds(30)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector()
        let asksBefore = context.format == .human || destination != nil
        let status = asksBefore ? try collector.call(CollectorCalls.status).value : nil
        let before = status?.destinations ?? []
        if let destination, !before.contains(where: { $0.name == destination && !$0.isRemoved }) {
            let hasError = status?.store.faultsByKind.contains { $0.kind == .configuration } ?? false
            let text = hasError ? "in use, and the configuration has an error" : "configured"
            throw CommandFailure(.refused, "no destination '\(destination)' is \(text): see issuectl status")
        }
        let parameters = FlushParameters(destination: destination, timeout: timeout)
        let answer = try collector.call(CollectorCalls.flush, parameters, timeout: parameters.replyTimeout)
        let destinations = answer.value.destinations.filter { !$0.isRemoved }
        if destinations.isEmpty {
            var current = status
            if current == nil { current = try collector.call(CollectorCalls.status).value }
            if current?.lacksDestinations == true {
                if context.format != .human { try context.print(answer, elements: "destinations") { _ in [] } }
                throw CommandFailure(.refused, "\(DaemonStatus.lackOfDestinations): see issuectl status")
            }
        }
        let unfinished = destinations.filter { isUnfinished($0, startedAt: context.now) }
        try context.print(answer, elements: "destinations") { _ in
            guard !destinations.isEmpty else { return ["No destination is configured."] }
            return destinations.flatMap { destination in
                let earlier = before.first { $0.name == destination.name }
                return [
                    line(destination, since: earlier), destination.advice.map { "  " + TerminalSanitizer.line($0) },
                ]
                .compactMap(\.self)
            }
        }
        let rejecting = destinations.filter { destination in
            hasNewDeadLetters(destination, since: before.first { $0.name == destination.name }, at: context.now)
        }
        if !rejecting.isEmpty {
            let names = rejecting.map(\.name).joined(separator: ", ")
            let message = "some records or corrections became dead letters (\(names)): see issuectl dead-letters"
            if unfinished.isEmpty { throw CommandFailure(.refused, message) }
            context.warn(message)
        }
        guard unfinished.isEmpty else {
            let kind = unfinished.contains { $0.ledger.pending > 0 } ? "records" : "corrections"
            let names = unfinished.map(\.name).joined(separator: ", ")
            guard unfinished.contains(where: { $0.state != .paused }) else {
                let subject = unfinished.count == 1 ? "the destination is" : "the destinations are"
                throw CommandFailure(
                    .tryAgain, "some \(kind) are still pending (\(names)): \(subject) paused, see the advice")
            }
            throw CommandFailure(
                .tryAgain,
                "some \(kind) are still pending (\(names)): "
                    + (unfinished.allSatisfy { $0.state == .waiting && $0.advice != nil }
                        ? "see the advice" : "see issuectl status, or wait longer with --timeout"))
        }
    }

    private func isPending(_ destination: DestinationStatus) -> Bool {
        destination.ledger.pending > 0 || (destination.pendingCorrections ?? 0) > 0
    }

    /// Returns `true` if records or corrections from before the wait are pending, or if any are pending and their times
    /// are unknown.
    private func isUnfinished(_ destination: DestinationStatus, startedAt: IssueTimestamp) -> Bool {
        isPending(destination) && destination.oldestPending.map { $0 <= startedAt } ?? true
    }

    /// Returns `true` if records or corrections became dead letters during the wait.
    ///
    /// - Parameters:
    ///   - before: The status before the wait; nil if it is not known.
    ///   - start: The start of the wait.
    private func hasNewDeadLetters(
        _ destination: DestinationStatus, since before: DestinationStatus?, at start: IssueTimestamp
    ) -> Bool {
        if let before, destination.ledger.deadLettered > before.ledger.deadLettered { return true }
        return destination.lastDeadLetter.map { $0 >= start } ?? false
    }

    /// Returns a line such as `logzio: 12 delivered, 1 summarised, 3 still pending (paused: forbidden)`.
    ///
    /// The state is shown if something is pending or the destination is paused; if it waits, with the time of the next
    /// attempt.
    private func line(_ destination: DestinationStatus, since before: DestinationStatus?) -> String {
        let earlier = before?.ledger ?? Ledger()
        let corrections = destination.pendingCorrections ?? 0
        let sent = (before?.pendingCorrections ?? 0) &- corrections
        var parts: [String] = []
        for fate in IssueFate.Outcome.allCases where fate != .pending {
            let count = destination.ledger[fate] &- earlier[fate]
            if count > 0 { parts.append("\(Quantity.text(count)) \(fate.label)") }
        }
        if destination.ledger.pending > 0 {
            parts.append("\(Quantity.text(destination.ledger.pending)) still pending")
        }
        if sent > 0 { parts.append("\(Quantity.text(sent, "correction")) sent") }
        if corrections > 0 { parts.append("\(Quantity.text(corrections, "correction")) still pending") }
        var text = parts.isEmpty ? "nothing was pending" : parts.joined(separator: ", ")
        if isPending(destination) || destination.state == .paused {
            let next = destination.state == .waiting ? destination.nextAttempt : nil
            text += " (\(destination.state.rawValue)\(destination.reason.map { ": \($0)" } ?? "")"
            text += "\(next.map { "; next attempt at \($0.description)" } ?? ""))"
        }
        return TerminalSanitizer.line("\(destination.name): \(text)")
    }
}

/// `issuectl dead-letters`: lists, shows, requeues and exports dead letters.
struct DeadLettersCommand: Command {
    private enum Action: String, CaseIterable {
        case list, show, requeue, export
    }

    static let destination = OptionSpecification(
        "destination", value: "NAME", from: .destinations, "Only this destination")
    static let all = OptionSpecification("all", short: "a", "List or requeue all dead letters")

    static let specification = CommandSpecification(
        name: "dead-letters", summary: "List, requeue or export dead letters",
        operands: .any("list|show|requeue|export] [ID"),
        operandSources: [.words(Action.allCases.map(\.rawValue)), .deadLetters],
        sections: [("Filter", [destination, all, PagingOptions.limit])],
        notes: [
            "list (the default) shows dead letters, newest first. show ID... shows all details of the dead letters "
                + "with these ids. requeue ID... or requeue --all makes dead letters pending again. export [ID...] "
                + "prints the lines that were to be sent, by default all of them. "
                + CommandSpecification.severalNote("show, requeue or export"),
            "A dead letter whose destination is no longer configured, or whose record or summary cannot be read, can "
                + "be exported but not requeued. When a record is removed, so are its dead letters.",
        ],
        examples: [
            "issuectl dead-letters", "issuectl dead-letters requeue --all --destination logzio",
            "issuectl dead-letters export > given-up.ndjson",
        ])

    private let action: Action
    private let ids: [String]
    private let destination: String?
    private let isAll: Bool
    private let limit: Int64?

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        action = try arguments.action(default: .list)
        ids = Array(arguments.operands.dropFirst())
        destination = arguments[Self.destination]
        isAll = arguments.has(Self.all)
        limit = try arguments.integer(PagingOptions.limit, in: 1...Int64.max)
        switch action {
        case .list where !ids.isEmpty: throw UsageError("list takes no ID (did you mean dead-letters show?)")
        case .show where ids.isEmpty: throw UsageError("missing argument ID")
        case .requeue where ids.isEmpty && !isAll: throw UsageError("give IDs or --all")
        case .requeue where !ids.isEmpty && isAll: throw UsageError("--all and IDs cannot be used together")
        case .show where isAll, .export where isAll: throw UsageError("\(action.rawValue) takes no --all")
        case .show where limit != nil, .requeue where limit != nil:
            throw UsageError("\(action.rawValue) takes no --limit")
        case .list where isAll && limit != nil: throw UsageError("--all and --limit cannot be used together")
        case .list, .show, .requeue, .export: break
        }
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        switch action {
        case .list: try list(in: context)
        case .show: try show(in: context)
        case .requeue: try requeue(in: context)
        case .export: try export(in: context)
        }
    }

    private func list(in context: CommandContext) throws(CommandFailure) {
        try PagingOptions(limit: limit, isAll: isAll).print(
            CollectorCalls.deadLetters, Self.columns, empty: "No dead letters.", in: context
        ) { limit, after in
            DeadLettersParameters(destination: destination, limit: limit, after: after)
        } rows: { reply in
            reply.deadLetters.map { row($0, now: context.now) }
        }
    }

    private static let columns = [
        Column("ID"), Column("DESTINATION", maximum: 24, expendability: 2), Column("SINCE", expendability: 1),
        Column("ATTEMPTS", alignment: .right, expendability: 3), Column("REASON"), Column("ANSWER", minimum: 12),
    ]

    private func row(_ letter: DeadLetter, now: IssueTimestamp) -> [Cell] {
        [
            Cell(letter.record), Cell(letter.destination), Cell(RelativeTime.text(letter.timestamp, now: now)),
            Cell(Quantity.text(letter.attempts)),
            Cell(letter.reason + (letter.isCorrection == true ? " (correction)" : "")), Cell(letter.answer ?? "-"),
        ]
    }

    /// Returns the dead letters with the ids of the command line, and their JSON. Throws if there are none.
    private func find(
        lines: Bool? = nil, _ collector: Collector
    ) throws(CommandFailure) -> (letters: [DeadLetter], elements: [[UInt8]]) {
        var letters: [DeadLetter] = []
        var elements: [[UInt8]] = []
        try collector.eachPage(CollectorCalls.deadLetters) { after in
            DeadLettersParameters(
                destination: destination, records: ids, lines: lines, limit: Int(PagingOptions.pageSize), after: after)
        } receive: { answer in
            letters += answer.value.deadLetters
            elements += answer.elements(of: DeadLettersReply.member)
            return true
        }
        guard !letters.isEmpty else { throw CommandFailure(.refused, none(of: ids)) }
        return (letters, elements)
    }

    private func show(in context: CommandContext) throws(CommandFailure) {
        let (letters, elements) = try find(lines: true, context.collector())
        try context.print("dead_letters", elements) {
            var page = TextPage(painter: context.painter)
            for letter in letters {
                page.heading("\(letter.record) for \(letter.destination)")
                page.fields([
                    ("Kind", letter.isCorrection == true ? "correction of the grouping" : nil),
                    ("Given up", PageTime.full(letter.timestamp, now: context.now)), ("Reason", letter.reason),
                    ("Answer", letter.answer), ("Attempts", Quantity.text(letter.attempts)),
                    ("Line", letter.line),
                ])
            }
            return page.lines
        }
        try expectAll(in: Set(letters.map(\.record)))
    }

    /// Throws if an id of the command line is not in `found`.
    private func expectAll(in found: Set<String>) throws(CommandFailure) {
        let missing = ids.filter { !found.contains($0.lowercased()) }
        if !missing.isEmpty { throw CommandFailure(.refused, none(of: missing)) }
    }

    private func none(of ids: [String]) -> String {
        "no dead letter for \(ids.joined(separator: ", ")): see issuectl dead-letters"
    }

    private func requeue(in context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector(notFound: { none(of: [$0]) })
        var parameters = RequeueParameters(destination: destination, records: isAll ? nil : ids)
        // The daemon refuses a whole call if one of its ids has no dead letter, so such ids are left out.
        let found = ids.count > 1 ? Set(try find(collector).letters.map(\.record)) : nil
        if let found { parameters.records = ids.filter { found.contains($0.lowercased()) } }
        let answer = try context.runOperation(CollectorCalls.requeue, parameters, on: collector) { reply in
            Quantity.text(reply.count, "dead letter")
        }
        try context.print(answer) { reply in
            let pending =
                "\(Quantity.text(reply.count, "dead letter")) \(reply.count == 1 ? "is" : "are") pending again."
            guard reply.left > 0 else { return [pending] }
            let left = Quantity.text(reply.left)
            let reason = "the record or summary cannot be read, or the destination is not configured"
            return [pending, "\(left) can only be exported: \(reason)."]
        }
        if let found { try expectAll(in: found) }
    }

    private func export(in context: CommandContext) throws(CommandFailure) {
        var left = limit
        var found: Set<String> = []
        try context.collector().eachPage(CollectorCalls.deadLetters) { after in
            DeadLettersParameters(
                destination: destination, records: ids.isEmpty ? nil : ids, lines: true,
                limit: Int(min(left ?? PagingOptions.pageSize, PagingOptions.pageSize)), after: after)
        } receive: { answer throws(CommandFailure) in
            let lines = answer.value.deadLetters.compactMap(\.line)
            for line in lines { try context.print(json: Array(line.utf8)) }
            found.formUnion(answer.value.deadLetters.map(\.record))
            left = left.map { $0 - Int64(lines.count) }
            return !lines.isEmpty && left != 0
        }
        // If the limit ended the search, ids that were not found may still have dead letters.
        if left != 0 { try expectAll(in: found) }
    }
}
