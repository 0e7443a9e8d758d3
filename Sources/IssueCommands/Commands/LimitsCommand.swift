import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl limits`: shows what each limit has left and what it has held back.
struct LimitsCommand: Command {
    static let all = OptionSpecification(
        "all", "Show all limits that the daemon returns, not only the 20 that held back most")

    static let specification = CommandSpecification(
        name: "limits", summary: "Show what each limit has left and what it has held back",
        sections: [("Output", [all])],
        notes: [
            "OF is what the limit applies to. LEFT shows how much of the limit is left, and the whole limit; for a "
                + "user's part of a shared limit, it shows how much the user has used. The numbers in parentheses "
                + "leave out the part that is reserved for critical records, new issues and summaries. \"100 per "
                + "app\" is the limit of each application or, with OF, of each of the user's applications.",
            "REFILL shows how much is added in a period. With \"every 15min\", the whole limit is available again "
                + "when the next period begins.",
            "HELD BACK shows how much was above the limit in the last 24 hours, or since the daemon started or "
                + "its limits changed if that is more recent. Records that a summary has reported since are "
                + "included.",
            "NEEDED shows the limits that would have held back nothing: a larger burst with the same refill, or a "
                + "larger refill with the burst that it needs. They are whole limits with their reserves, of which "
                + "ordinary records can use only a part, so they can be larger than the number of records.",
            "Records that are held back are stored, and summaries report their number. New groups, series, "
                + "applications and senders above their limits are combined in an overflow entry. Announcements are "
                + "the lines in the daemon's log about new issues, critical records and regressions; others are left "
                + "out.",
            "You see the limits of your own applications. Root, the daemon's user and the members of groups in "
                + "Readers= and Operators= see all limits.",
        ],
        examples: ["issuectl limits", "issuectl limits --ndjson | jq 'select(.held > 0)'"])

    /// The number of limits that are shown without `--all`.
    private static let maxShown = 20
    private let isAll: Bool

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        isAll = arguments.has(Self.all)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let answer = try context.collector().call(CollectorCalls.limits)
        try context.print(answer, elements: "limits") { lines($0, context) }
    }

    private func lines(_ reply: LimitsReply, _ context: CommandContext) -> [String] {
        guard !reply.limits.isEmpty else { return ["No limits to show."] }
        var table = context.table([
            Column("LIMIT"), Column("OF", maximum: 48, expendability: 1),
            Column("LEFT", alignment: .right, expendability: 2), Column("REFILL", expendability: 3),
            Column("HELD BACK", alignment: .right), Column("NEEDED", minimum: 8),
        ])
        let shown = isAll ? reply.limits : Array(reply.limits.prefix(Self.maxShown))
        var lines = table.lines(shown.map { LimitRow(limit: $0, context: context).cells })
        let more = reply.limits.count - shown.count &+ reply.others
        if more > 0 {
            let all = reply.limits.count > shown.count ? " (see --all)" : ""
            lines.append("and \(Quantity.text(more)) more\(all)")
        }
        if reply.othersHeld > 0 {
            lines.append("Limits that the daemon does not return held back another \(Quantity.text(reply.othersHeld)).")
        }
        lines.append("Held back since \(PageTime.full(reply.since, now: context.now)).")
        return lines
    }
}

/// The cells of one limit.
private struct LimitRow {
    let limit: LimitStatus
    let context: CommandContext

    var cells: [Cell] {
        let isEmpty = limit.level == 0 || limit.commonLevel == 0
        return [
            Cell(label), Cell(subject), Cell(left, style: isEmpty ? .warning : .plain), Cell(refill),
            Cell(Quantity.text(limit.held), style: limit.held > 0 ? .warning : .plain), Cell(needed),
        ]
    }

    private var name: LimitStatus.Name? { LimitStatus.Name(rawValue: limit.name) }
    private var isBytes: Bool { name == .dailyBytes }
    private var isPerApplication: Bool { name == .newGroups || name == .newSeries }

    private var label: String {
        switch name {
        case .announcementsNew: "announcements, new"
        case .announcementsUrgent: "announcements, urgent"
        // Includes the names of limits that only a newer daemon has.
        default: limit.name.replacing("_", with: " ")
        }
    }

    private var subject: String {
        let user = limit.uid.map { "user \(context.user($0))" }
        let words = [limit.destination, limit.app, limit.group, user].compactMap(\.self)
        return words.isEmpty ? "all" : words.joined(separator: " ")
    }

    private var left: String {
        if let used = limit.used { return "used \(amount(used))" }
        guard let capacity = limit.capacity else { return "-" }
        if limit.level == nil, limit.destination == nil {
            return "\(amount(capacity)) per \(isPerApplication ? "app" : "user")"
        }
        let whole = "\(limit.level.map(amount) ?? "-")/\(amount(capacity))"
        guard let level = limit.commonLevel, let common = limit.commonCapacity else { return whole }
        return "\(whole) (\(amount(level))/\(amount(common)))"
    }

    private var refill: String {
        guard limit.capacity != nil, let period = limit.period else { return "-" }
        guard let refill = limit.refill else { return "every \(PeriodText.ofRate(period))" }
        return "\(Quantity.text(refill))/\(PeriodText.ofRate(period))"
    }

    private var needed: String {
        guard !limit.needed.isEmpty else { return "-" }
        return limit.needed.map { need in
            guard let refill = need.refill, refill != limit.refill, let period = limit.period else {
                return amount(need.capacity)
            }
            return "\(amount(need.capacity)) with \(Quantity.text(refill))/\(PeriodText.ofRate(period))"
        }.joined(separator: ", or ")
    }

    private func amount(_ number: Int64) -> String { isBytes ? Quantity.bytes(number) : Quantity.text(number) }
}
