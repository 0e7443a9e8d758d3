import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl backup`: copies the daemon's store.
struct BackupCommand: Command {
    static let specification = CommandSpecification(
        name: "backup", summary: "Copy the daemon's whole store while it runs", operands: .optional("FILE"),
        operandSources: [.files],
        hasTimeout: false,
        notes: [
            "Without FILE, the copy is stored next to the database, in the daemon's own folder. With FILE, the "
                + "copy is written to FILE, only you can read it, and the daemon keeps no copy. An existing file "
                + "is not overwritten. If FILE is a folder, a new file is created in it; if FILE ends with a slash, "
                + "it must be an existing folder. Operations.md explains how to restore a copy."
        ],
        examples: ["issuectl backup", "issuectl backup /srv/copies/"])

    private let file: String?

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        file = arguments.operands.first
        if file == "-" {
            throw UsageError("a copy cannot be written to standard output; for a file with this name, use ./-")
        }
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        guard let file else { return try runInPlace(context) }
        // Checked first, since copying takes long.
        try context.files.check(file)
        let collector = try context.collector()
        var (answer, copy) = try context.withProgress { () throws(CommandFailure) in
            try collector.backup { context.publishProgress(progress($0)) }
        }
        guard let copy else {
            let path = answer.value.path.map { ", and left one at \($0)" } ?? ""
            throw CommandFailure(
                .refused,
                "the daemon returned no copy\(path): the daemon may be older than issuectl (see issuectl status)")
        }
        let path = try context.files.save(copy, file, "issues.db.backup-\(context.now.description)")
        answer.value.path = path
        answer.value.descriptor = nil
        answer.json = answer.value.json
        try print(answer, path, context)
    }

    private func runInPlace(_ context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector()
        let answer = try context.runOperation(
            CollectorCalls.backup, BackupParameters(), on: collector, progress: progress)
        guard let path = answer.value.path else { throw collector.invalid("it names no file") }
        try print(answer, path, context)
    }

    private func progress(_ reply: BackupReply) -> String {
        "\(Quantity.bytes(reply.bytesDone)) of \(Quantity.bytes(reply.bytesTotal)) copied"
    }

    private func print(
        _ answer: BrowserReply<BackupReply>, _ path: String, _ context: CommandContext
    ) throws(CommandFailure) {
        try context.print(answer) { ["\(TerminalSanitizer.line(path)): \(Quantity.bytes($0.bytesTotal))"] }
        if let unreadable = answer.value.unreadable {
            context.warn(
                "\(Quantity.text(unreadable, "record")) in the copy can't be read because their blocks are damaged: "
                    + "keep older backups, and see issuectl doctor")
        }
        guard answer.value.isDamaged == true else { return }
        throw CommandFailure(
            .refused,
            "pages of the copy are damaged, and probably those of the database: keep older backups, check the disk, "
                + "and see \"The database is damaged\" in Operations.md")
    }
}

/// `issuectl repair`: recovers records from databases that were moved aside.
struct RepairCommand: Command {
    static let list = OptionSpecification("list", short: "l", "Only list the databases")

    static let specification = CommandSpecification(
        name: "repair", summary: "Recover records from databases that were moved aside", operands: .optional("NAME"),
        operandSources: [.damagedDatabases],
        sections: [("Options", [list])],
        hasTimeout: false,
        notes: [
            "If the daemon cannot use a database, it renames the file to issues.db.damaged-TIME. This command stores "
                + "the readable records of such a database again, as new records that name their old id and time. "
                + "Records are forwarded only if they were pending or dead letters at a destination, or if their fates "
                + "are unknown. Without NAME, all such databases are read. Each one that was read to the end is then "
                + "renamed and kept."
        ],
        examples: ["issuectl repair --list", "issuectl repair issues.db.damaged-2026-11-21T13:17:14.967Z"])

    private let parameters: RepairParameters
    /// The operand, which may be a path; nil if there is none.
    private let operand: String?

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        operand = arguments.operands.first
        let name = operand.map { $0.split(separator: "/").last.map { String($0) } ?? $0 }
        parameters = RepairParameters(file: name, isDryRun: arguments.has(Self.list) ? true : nil)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector(
            notFound: { "no database '\(operand ?? $0)' was moved aside: see issuectl repair --list" })
        let answer = try context.runOperation(
            CollectorCalls.repair, parameters, on: collector
        ) { reply in
            Self.recovered(reply)
        }
        try context.print(answer, text: lines)
        if !answer.value.unreadableFiles.isEmpty { throw CommandFailure(.refused, nil) }
    }

    private static func recovered(_ reply: RepairReply) -> String {
        let text = "\(Quantity.text(reply.recovered, "record")) recovered"
        return reply.earlier.map { "\(text), \(Quantity.text($0)) already stored" } ?? text
    }

    private func lines(_ reply: RepairReply) -> [String] {
        guard !reply.files.isEmpty else { return ["No database was moved aside."] }
        guard parameters.isDryRun != true else { return reply.files.map { TerminalSanitizer.line($0) } }
        var lines: [String] = []
        let read = reply.files.filter { !reply.unreadableFiles.contains($0) }
        let isAnyRead = reply.recovered > 0 || (reply.earlier ?? 0) > 0
        if !read.isEmpty || isAnyRead {
            var text = Self.recovered(reply)
            let isMinimum = reply.isUnreadableMinimum == true
            if reply.unreadable > 0 || isMinimum {
                text += ", \(isMinimum ? "at least " : "")\(Quantity.text(reply.unreadable)) could not be read"
            }
            lines += ["\(text)\(read.isEmpty ? "." : ", from:")"] + read.map { "  \(TerminalSanitizer.line($0))" }
        }
        if !reply.unreadableFiles.isEmpty {
            let failure = isAnyRead ? "These could not be read, or not to the end" : "Nothing could be read from these"
            lines += ["\(failure); they are unchanged (see journalctl -u issued):"]
            lines += reply.unreadableFiles.map { "  \(TerminalSanitizer.line($0))" }
        }
        return lines
    }
}

/// `issuectl purge`: permanently erases matching records.
struct PurgeCommand: Command {
    static let dryRun = OptionSpecification(
        "dry-run", short: "n", "Only count the records, and list where copies may remain; erase nothing")
    static let yes = OptionSpecification("yes", short: "y", "Do not ask for confirmation")

    static let specification = CommandSpecification(
        name: "purge", summary: "Erase records permanently",
        sections: [("Filter", FilterOptions.ofRecords), ("Options", [dryRun, yes])],
        hasTimeout: false,
        notes: [
            "Erases the records that match all filter options, and lists where copies may remain. At least one filter "
                + "option is required. Asks for confirmation; without a terminal, or with --json or --ndjson, --yes is "
                + "required. "
                + FilterOptions.timeNote
        ],
        examples: ["issuectl purge --user 1001 --dry-run", "issuectl purge --app shop --until 2026-11-01 --yes"])

    private let filter: IssueFilter
    /// The options that select the records, as the user gave them.
    private let conditions: String
    private let isDryRun: Bool
    private let skipsConfirmation: Bool

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        guard let filter = try FilterOptions.filter(arguments, at: now) else {
            throw UsageError("a filter is required: without one, all records would be erased")
        }
        // Only recent issues are searched for an abbreviated id, so a wrong one could be erased.
        if let id = filter.groups?.first(where: { !IssueGroup.isID($0) }) {
            throw UsageError("'\(id)' is abbreviated: purge needs the whole id of an issue")
        }
        self.filter = filter
        conditions = FilterOptions.ofRecords.flatMap { option in
            (arguments.all(option) ?? []).map { "\(option.spelling) \($0)" }
        }.joined(separator: " ")
        isDryRun = arguments.has(Self.dryRun)
        skipsConfirmation = arguments.has(Self.yes)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector()
        if !isDryRun, !skipsConfirmation {
            guard context.terminal.isTerminal, context.format == .human else {
                throw CommandFailure(.usage, "cannot ask for confirmation: use --yes, or --dry-run to count")
            }
            let count = try purge(isDryRun: true, collector, context).value.count
            guard count > 0 else { return try context.print("No records match.") }
            let question = "Permanently erase \(Quantity.text(count, "record")) with \(conditions)?"
            guard try context.confirm(question) else {
                throw CommandFailure(.refused, "nothing was erased")
            }
        }
        let answer = try purge(isDryRun: isDryRun, collector, context)
        try context.print(answer, text: lines)
    }

    private func purge(
        isDryRun: Bool, _ collector: Collector, _ context: CommandContext
    ) throws(CommandFailure) -> BrowserReply<PurgeReply> {
        let parameters = PurgeParameters(filter: filter, isDryRun: isDryRun ? true : nil)
        return try context.runOperation(CollectorCalls.purge, parameters, on: collector) {
            Quantity.text($0.count, "record")
        }
    }

    private func lines(_ reply: PurgeReply) -> [String] {
        let count = Quantity.text(reply.count, "record")
        var lines = [isDryRun ? "\(count) would be erased." : "\(count) \(reply.count == 1 ? "was" : "were") erased."]
        guard !reply.unreachable.isEmpty else { return lines }
        lines.append("Copies may remain in:")
        lines += reply.unreachable.map { "  " + TerminalSanitizer.line($0) }
        return lines
    }
}

/// `issuectl retention`: shows what is stored, and which records are removed next.
struct RetentionCommand: Command {
    static let specification = CommandSpecification(
        name: "retention", summary: "Show which records will be removed, when and why",
        notes: [
            "NEXT is the time at which a rule removes records next, if reports keep arriving as in the last 24 "
                + "hours. For MaxSize= and KeepFree=, a time later than now is unknown until the database is six "
                + "hours old and has a closed range. RECORDS is the number of records that MaxAge= "
                + "removes at that time. Used is the size of the database without its free pages, which MaxSize= "
                + "limits; issuectl status shows the size of the file.",
            "MaxAge= removes the records of a range together, when its newest record is old enough. A range has up to "
                + "65,536 records, and up to 16 MiB or an eighth of the space for the database, whichever is less. "
                + "MaxSize= and KeepFree= remove records of the user with the most data, usually only those of "
                + "frequent issues, until enough space is free; their number depends on the records that arrive until "
                + "then. No rule removes records from the open range, to which new records are added. The counts of "
                + "issues stay exact.",
            "With --ndjson, the first line has the totals, and each further line a rule.",
            "You need the right to see all records.",
        ],
        examples: ["issuectl retention", "issuectl retention --json"])

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {}

    func run(in context: CommandContext) throws(CommandFailure) {
        let answer = try context.collector(denied: CommandFailure.deniedToSee("retention")).call(
            CollectorCalls.retention)
        try context.print(answer, elements: "rules", printsOtherMembers: true) { lines($0, context) }
    }

    private func lines(_ reply: RetentionReply, _ context: CommandContext) -> [String] {
        var page = TextPage(painter: context.painter)
        let growth = reply.growth.flatMap { $0 > 0 ? ", about \(Quantity.bytes($0)) more each day" : nil } ?? ""
        page.fields([
            ("Records", Quantity.text(reply.records)),
            ("Oldest", reply.oldest.map { PageTime.full($0, now: context.now) }),
            ("Used", "\(Quantity.bytes(reply.bytes)) of \(Quantity.bytes(reply.maxBytes))\(growth)"),
            (
                "Free",
                reply.freeBytes.map {
                    "\(Quantity.bytes($0)) on the disk; KeepFree= is \(Quantity.bytes(reply.keepFree))"
                        + (reply.isUnreachable == true ? ", but other files fill the disk" : "")
                }
            ),
        ])
        page.gap()
        var table = Table(
            [
                Column("RULE", maximum: 60), Column("NEXT"), Column("RECORDS", alignment: .right),
                Column("REMOVES", minimum: 8),
            ], width: context.width, painter: context.painter)
        page.add(table.lines(reply.rules.map { row($0, of: reply, in: context) }), indent: 0)
        return page.lines
    }

    private func row(_ rule: RetentionRule, of reply: RetentionReply, in context: CommandContext) -> [Cell] {
        let name = RetentionRule.Name(rawValue: rule.name)
        let isDue = rule.at.map { $0 <= context.now } ?? false
        // If the database exceeds MaxSize= and the rule has no time, all records are in the open range.
        let isLater = name == .maxAge || name == .maxSize && reply.bytes > reply.maxBytes
        let isUnreachable = name == .keepFree && reply.isUnreachable == true
        let isUnexpected = reply.growth != nil || isUnreachable
        let never = isLater ? "after the open range" : isUnexpected ? "not expected" : "unknown"
        let next = rule.at.map { isDue ? "now" : RelativeTime.text($0, now: context.now) } ?? never
        let user = rule.uid.map { "user \(context.user($0))" }
        let (label, removes): (String, String)
        switch name {
        case .maxAge:
            let age = rule.age.map { PeriodText.text($0) } ?? ""
            let owner = user.map { ", \($0)" } ?? ""
            label = "MaxAge=\(age)" + (rule.app.map { " of \($0)\(owner)" } ?? "")
            removes = rule.at == nil ? "-" : "the oldest records"
        case .maxSize, .keepFree:
            label = name == .maxSize ? "MaxSize=" : "KeepFree="
            let isKnown = rule.at != nil || never == "unknown"
            removes = isKnown ? user.map { "the frequent issues of \($0)" } ?? "-" : "-"
        case nil: (label, removes) = (rule.name, "-")
        }
        return [
            Cell(label), Cell(next, style: isDue ? .warning : .plain),
            Cell(rule.records.map { Quantity.text($0) } ?? "-"),
            Cell(removes),
        ]
    }
}
