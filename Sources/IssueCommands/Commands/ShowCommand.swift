import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl show`: shows all details of a record, or of a group and its newest record.
struct ShowCommand: Command {
    static let specification = CommandSpecification(
        name: "show", summary: "Show all details of a record, or of a group's newest record", operands: .one("ID"),
        operandSources: [.groups],
        notes: [
            "For a group, also counts the fates of its newest stored records at each destination. At most 1,000 records "
                + "are counted, fewer if counting takes too long. If records are pending at a paused destination, the reason is "
                + "shown."
        ],
        examples: ["issuectl show g92c9da597585468b", "issuectl show g92c9da597585468b --json"])

    private let id: String

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        id = arguments.operands.first ?? ""
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector()
        let answer = try AbbreviatedID.call(id, collector) { (id) throws(CommandFailure) in
            try collector.call(CollectorCalls.show, ShowParameters(id: id, countsFates: true))
        }
        try context.print(answer) { reply in
            var details = RecordDetails(reply, in: context)
            if reply.hasPending, let status = try? collector.call(CollectorCalls.status).value {
                for destination in status.destinations where destination.state == .paused {
                    let reason = destination.reason.map { ": \($0)" } ?? ""
                    details.pauses[destination.name] = " (paused\(reason))"
                }
            }
            return details.lines
        }
    }
}

/// The output of `show`. No text is cut, since no other command shows the details.
struct RecordDetails {
    private let reply: IssueDetails
    private let context: CommandContext
    /// A remark on each paused destination, by name.
    var pauses: [String: String] = [:]

    init(_ reply: IssueDetails, in context: CommandContext) {
        self.reply = reply
        self.context = context
    }

    private var now: IssueTimestamp { context.now }
    private var width: Int? { context.width }
    private var painter: Painter { context.painter }

    /// The id that the kernel reports for users of another user namespace who have no id on this host
    /// (user_namespaces(7)).
    private static let overflowUserID = 65_534

    var lines: [String] {
        var page = TextPage(painter: painter)
        let record = reply.record?.record
        // Further lines are indented, so that a message can't imitate the fields below it.
        for (number, line) in TerminalSanitizer.lines(record?.message ?? reply.group.title).enumerated() {
            page.add([painter(line, .heading)], indent: number == 0 ? 0 : 4)
        }
        page.add([summary(record)], indent: 0)
        page.gap()
        if let stored = reply.record {
            page.fields(fields(stored))
        } else {
            page.add(["All records of the group have been removed, or its newest record cannot be read."])
        }
        group(into: &page)
        if let stored = reply.record { details(stored, into: &page) }
        fates(into: &page)
        return page.lines
    }

    /// Returns a line such as `error in shop 2.0.0 (2500), production`, with the severity in its colour.
    private func summary(_ record: IssueRecord?) -> String {
        let severity = record?.severity ?? reply.group.level
        var text = ""
        if let app = record?.app {
            let version = [app.version, app.build.map { "(\($0))" }].compactMap(\.self).joined(separator: " ")
            text = " in \(app.name ?? "an unnamed application")\(version.isEmpty ? "" : " \(version)")"
            for member in app.jsonMembers where member.key != "name" && member.key != "version" {
                if let part = member.value.asString, !part.isEmpty { text += ", \(part)" }
            }
            if app.development == true { text += ", in development" }
        } else if let app = reply.group.app {
            text = " in \(app)"
        }
        return painter(severity.name, TextStyle(severity)) + TerminalSanitizer.line(text)
    }

    private func fields(_ stored: StoredRecord) -> [(name: String, value: String?)] {
        let record = stored.record
        let count = record.count ?? 1
        let since = record.firstOccurredAt.map { " since \(PageTime.full($0, now: now))" } ?? ""
        let context = record.context.values.map { (name: $0.field.label, value: Optional($0.value)) }
        return [
            ("Record", stored.id),
            ("Occurred", record.occurredAt.map { PageTime.full($0, now: now) }),
            ("Received", PageTime.full(stored.receivedAt, now: now)),
            ("Count", count > 1 ? Quantity.text(count) + since : nil),
            ("Source", record.source.flatMap(sourceText)),
            ("Domain", record.domain),
            ("Code", record.code.map { String($0) }),
            ("Fingerprint", record.fingerprint),
        ] + context + [
            ("Forwarded", record.reportable == false ? "never: marked as not reportable" : nil),
            ("Sender", sender(stored.sender)),
            ("Executable", stored.sender.executable),
            ("Unit", stored.sender.unit),
            ("Notes", stored.repairs.isEmpty ? nil : stored.repairs.joined(separator: "; ")),
        ]
    }

    private func sourceText(_ source: SourceLocation) -> String? {
        var text = source.fileID ?? ""
        if let line = source.line { text += text.isEmpty ? "line \(line)" : ":\(line)" }
        if let column = source.column, source.line != nil { text += ":\(column)" }
        if let function = source.function { text += text.isEmpty ? function : ", \(function)" }
        if let module = source.module { text += text.isEmpty ? "module \(module)" : " (module \(module))" }
        return text.isEmpty ? nil : text
    }

    private func sender(_ sender: Sender) -> String {
        "\(sender.command.map { "\($0), " } ?? "")pid \(sender.pid), "
            + "uid \(context.user(sender.uid)), gid \(sender.gid)"
            + (sender.uid == Self.overflowUserID
                ? " (nobody, or a container's user who has no id on this host)" : "")
    }

    private func group(into page: inout TextPage) {
        let group = reply.group
        var state = group.state.name
        switch group.state {
        case .open: break
        case .muted:
            let time = group.mutedUntil.map { PageTime.full($0, now: now) }
            let count = group.mutedUntilCount.map { Quantity.text($0, "more occurrence") }
            let ends = [time, count].compactMap(\.self)
            if !ends.isEmpty { state += " until " + ends.joined(separator: " or ") }
        case .resolved:
            if let version = group.resolvedIn { state += " in \(version)" }
            if group.isResolvedInNext { state += " in the next deployment" }
        }
        if group.hasRegressed { state += ", regressed" }
        page.heading("Group \(group.id)")
        var versions = group.firstVersion
        if let last = group.lastVersion, last != versions { versions = "first \(versions ?? "?"), last \(last)" }
        page.fields([
            ("Title", group.title),
            ("State", state),
            ("Set by", change(group)),
            ("Note", group.stateChange?.note),
            ("Counted", "\(Quantity.text(group.occurrences, "time")) in \(Quantity.text(group.records, "record"))"),
            ("First seen", PageTime.full(group.firstSeen, now: now)),
            ("Last seen", PageTime.full(group.lastSeen, now: now)),
            ("Versions", versions),
        ])
    }

    /// Returns who set the state and when, such as `user 1000, 2026-11-21T10:00:00.000Z (2 h ago)`; nil if no user set
    /// it. After a regression, describes the state before the regression.
    private func change(_ group: IssueGroup) -> String? {
        group.stateChange.map { change in
            "user \(context.user(change.user)), \(PageTime.full(change.time, now: now))"
                + (group.hasRegressed ? "; regressed since" : "")
        }
    }

    private func details(_ stored: StoredRecord, into page: inout TextPage) {
        let record = stored.record
        if let metadata = record.metadata, metadata != .object([]) {
            page.heading("Metadata")
            page.add(PrettyJSON.lines(metadata, width: (width ?? 120) - 2))
        }
        if !record.causes.isEmpty {
            page.heading("Causes")
            for (number, cause) in record.causes.enumerated() {
                let head = [cause.domain, cause.code.map { String($0) }].compactMap(\.self).joined(separator: " ")
                let parts = [head, cause.message].filter { !$0.isEmpty }
                page.add(["\(number + 1). " + TerminalSanitizer.line(parts.joined(separator: ": "))])
            }
        }
        if !record.backtrace.isEmpty {
            page.heading("Backtrace")
            var table = Table(
                [Column("", alignment: .right), Column(""), Column("")],
                width: nil, painter: painter)
            let rows = record.backtrace.enumerated().map { [Cell("\($0)"), Cell($1.image ?? "?"), Cell($1.location)] }
            page.add(table.lines(rows, hasHead: false))
        }
    }

    private func fates(into page: inout TextPage) {
        if let count = reply.groupFates.map(\.counts.received).max() {
            let isAll = count >= reply.group.records
            let records = Quantity.text(count, "record")
            page.heading(
                "Fates of "
                    + (count == 1
                        ? "the \(isAll ? "only" : "newest") record" : isAll ? records : "the newest \(records)"))
            page.fields(reply.groupFates.map { ($0.destination, text(of: $0)) })
        }
        guard !reply.fates.isEmpty else { return }
        page.heading(reply.groupFates.isEmpty ? "Fates" : "Fates of the record above")
        var table = Table(
            [
                Column("DESTINATION"), Column("FATE"), Column("ATTEMPTS", alignment: .right), Column("AT"),
                Column("ANSWER"),
            ], width: nil, painter: painter)
        let rows = reply.fates.map { fate in
            let answer = fate.answer ?? "-"
            return [
                Cell(fate.destination),
                Cell(fate.outcome.label + (fate.outcome == .pending ? pauses[fate.destination] ?? "" : "")),
                Cell(Quantity.text(fate.attempts)),
                Cell(fate.timestamp.map { RelativeTime.text($0, now: now) } ?? "-"),
                Cell(fate.maybeDuplicate ? "\(answer) (perhaps received twice)" : answer),
            ]
        }
        page.add(table.lines(rows))
    }

    /// Returns a text such as `6 delivered, 2 summarised, 0 pending`. The number of pending records is never left out.
    private func text(of fates: GroupFates) -> String {
        let others = IssueFate.Outcome.allCases.filter { $0 != .pending && fates.counts[$0] > 0 }
        return (others + [.pending]).map { fate in
            let pause = fate == .pending && fates.counts.pending > 0 ? pauses[fates.destination] ?? "" : ""
            return "\(Quantity.text(fates.counts[fate])) \(fate.label)\(pause)"
        }.joined(separator: ", ")
    }
}

extension IssueDetails {
    /// Whether a record that was counted or shown is pending at a destination.
    fileprivate var hasPending: Bool {
        fates.contains { $0.outcome == .pending } || groupFates.contains { $0.counts.pending > 0 }
    }
}

extension IssueFate.Outcome {
    /// The name in output for users.
    var label: String { self == .deadLettered ? "dead-lettered" : name }
}
