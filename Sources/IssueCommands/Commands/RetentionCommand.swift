import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl retention`: shows what is stored, and which records are removed next.
struct RetentionCommand: Command {
    static let specification = CommandSpecification(
        name: "retention", summary: "Show which records will be removed, when and why",
        notes: [
            "NEXT is when a rule removes records next if reports keep arriving as in the last 24 hours. RECORDS is "
                + "the number of records that MaxAge= then removes. For MaxSize= and KeepFree= it is not known, "
                + "because it depends on the records that arrive until then. These two remove records of frequent "
                + "issues of the user with the most data until enough space is free.",
            "MaxAge= removes records in portions of up to 65,536 or 16 MiB, once the newest record of a portion is "
                + "old enough. No rule removes records from the open range, the portion that is still being written. "
                + "Counts of issues stay exact.",
            "Needs the right to see all records.",
        ],
        examples: ["issuectl retention", "issuectl retention --json"])

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {}

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let answer = try context.collector(denied: CommandFailure.deniedToSee("retention")).call(
            CollectorCalls.retention)
        try context.print(answer, elements: "rules") { lines($0, context) }
        return .success
    }

    private func lines(_ reply: RetentionReply, _ context: CommandContext) -> [String] {
        var page = TextPage(painter: context.painter)
        let growth = reply.growth.map { ", about \(Quantity.bytes($0)) more each day" } ?? ""
        page.fields([
            ("Records", Quantity.text(reply.records)),
            ("Oldest", reply.oldest.map { PageTime.full($0, now: context.now) }),
            ("Size", "\(Quantity.bytes(reply.bytes)) of \(Quantity.bytes(reply.maxBytes))\(growth)"),
            (
                "Free",
                reply.freeBytes.map { "\(Quantity.bytes($0)) on the disk; \(Quantity.bytes(reply.keepFree)) stay free" }
            ),
        ])
        page.gap()
        var table = Table(
            [
                Column("RULE", maximum: 60), Column("NEXT"), Column("RECORDS", alignment: .right),
                Column("REMOVES", minimum: 8),
            ], width: context.width, painter: context.painter)
        page.add(table.lines(reply.rules.map { row($0, now: context.now) }), indent: 0)
        return page.lines
    }

    private func row(_ rule: RetentionRule, now: IssueTimestamp) -> [Cell] {
        let name = RetentionRule.Name(rawValue: rule.name)
        let isDue = rule.at.map { $0 <= now } ?? false
        let never = name == .maxAge ? "after the open range" : "not expected"
        let next = rule.at.map { isDue ? "now" : RelativeTime.text($0, now: now) } ?? never
        let removes: String
        let label: String
        switch name {
        case .maxAge:
            let age = rule.age.map { PeriodText.text($0) } ?? ""
            let owner = rule.uid.map { ", user \($0)" } ?? ""
            label = "MaxAge=\(age)" + (rule.app.map { " of \($0)\(owner)" } ?? "")
            removes = rule.at == nil ? "-" : "the oldest records"
        case .maxSize, .keepFree:
            label = name == .maxSize ? "MaxSize=" : "KeepFree="
            removes = rule.uid.map { "the frequent issues of user \($0)" } ?? "-"
        case nil: (label, removes) = (rule.name, "-")
        }
        return [
            Cell(label), Cell(next, style: isDue ? .warning : .plain),
            Cell(rule.records.map { Quantity.text($0) } ?? "-"),
            Cell(removes),
        ]
    }
}
