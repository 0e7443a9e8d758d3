import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl limits`: shows how full each limit is and what it has held back.
struct LimitsCommand: Command {
    static let all = OptionSpecification("all", "Show all limits that the daemon returns, not only the first 20")

    static let specification = CommandSpecification(
        name: "limits", summary: "Show what each limit has left and what it has held back",
        sections: [("Output", [all])],
        notes: [
            "LEFT is what the limit has left now and at most; in parentheses, the part that is not reserved for critical "
                + "records, new issues or summaries. HELD BACK is what was above the limit in the last 24 hours, or "
                + "since the daemon started or its limits changed, if that is more recent. NEEDED is the limit that would have held back nothing, "
                + "given the same records: the burst with the present refill, or a larger refill with its burst.",
            "Records that are held back are stored, and summaries report their number. New groups, series, applications "
                + "and senders above their limits join an overflow entry.",
            "You see the limits of your own applications; root, the daemon's user and users in Readers= and Operators= "
                + "see all.",
        ],
        examples: ["issuectl limits", "issuectl limits --ndjson | jq 'select(.held > 0)'"])

    private static let maxShown = 20
    private let isAll: Bool

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        isAll = arguments.has(Self.all)
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let answer = try context.collector().call(CollectorCalls.limits)
        try context.print(answer, elements: "limits") { lines($0, context) }
        return .success
    }

    private func lines(_ reply: LimitsReply, _ context: CommandContext) -> [String] {
        guard !reply.limits.isEmpty else { return ["No limits to show."] }
        var table = Table(
            [
                Column("LIMIT"), Column("OF", maximum: 48, expendability: 1),
                Column("LEFT", alignment: .right, expendability: 2), Column("REFILL", expendability: 3),
                Column("HELD BACK", alignment: .right),
                Column("NEEDED", minimum: 8),
            ], width: context.width, painter: context.painter)
        let shown = isAll ? reply.limits : Array(reply.limits.prefix(Self.maxShown))
        var lines = table.lines(shown.map { LimitRow($0).cells })
        let more = reply.limits.count - shown.count &+ reply.others
        if more > 0 {
            let all = reply.limits.count > shown.count ? " (see --all)" : ""
            lines.append("and \(Quantity.text(more)) more\(all)")
        }
        if reply.othersHeld > 0 {
            lines.append("Limits that are not listed held back \(Quantity.text(reply.othersHeld, "record")).")
        }
        lines.append("Held back since \(PageTime.full(reply.since, now: context.now)).")
        return lines
    }
}

/// The texts of one limit.
private struct LimitRow {
    let limit: LimitStatus

    init(_ limit: LimitStatus) {
        self.limit = limit
    }

    var cells: [Cell] {
        let isEmpty = limit.level == 0 || limit.commonLevel == 0
        return [
            Cell(label), Cell(subject), Cell(left, style: isEmpty ? .warning : .plain), Cell(refill),
            Cell(Quantity.text(limit.held), style: limit.held > 0 ? .warning : .plain), Cell(needed),
        ]
    }

    private var name: LimitStatus.Name? { LimitStatus.Name(rawValue: limit.name) }
    private var isBytes: Bool { name == .dailyBytes }

    private var label: String {
        switch name {
        case .groupRate: "group rate"
        case .applicationRate: "application rate"
        case .globalRate: "global rate"
        case .dailyBytes: "daily bytes"
        case .announcementsNew: "announcements, new"
        case .announcementsUrgent: "announcements, urgent"
        case .newGroups: "new groups"
        case .newSeries: "new series"
        case .applications: "applications"
        case .senders: "senders"
        // A newer daemon may have limits of other names.
        case nil: limit.name
        }
    }

    private var subject: String {
        var words = [limit.destination].compactMap(\.self)
        if let app = limit.app { words.append(app) }
        if let group = limit.group { words.append(group) }
        if let uid = limit.uid { words.append("user \(uid)") }
        return words.isEmpty ? "all" : words.joined(separator: " ")
    }

    private var left: String {
        if let used = limit.used { return "used \(amount(used))" }
        guard let capacity = limit.capacity else { return "-" }
        let whole = "\(limit.level.map(amount) ?? "-")/\(amount(capacity))"
        guard let level = limit.commonLevel, let common = limit.commonCapacity else { return whole }
        return "\(whole) (\(amount(level))/\(amount(common)))"
    }

    private var refill: String {
        guard limit.capacity != nil, let period = limit.period else { return "-" }
        guard let refill = limit.refill else { return "each \(PeriodText.ofRate(period))" }
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

/// A period of a limit, or an age, in the form of the configuration.
enum PeriodText {
    /// Returns the text of a duration, such as `1min` or `7d`.
    static func text(_ period: Duration) -> String {
        let milliseconds = period.components.seconds * 1000 + period.components.attoseconds / 1_000_000_000_000_000
        let units: [(Int64, String)] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")]
        for (size, name) in units where milliseconds >= size && milliseconds.isMultiple(of: size) {
            return "\(milliseconds / size)\(name)"
        }
        return "\(milliseconds)ms"
    }

    /// Returns the text of the period of a rate, such as `min`, `5min` or `day`.
    static func ofRate(_ period: Duration) -> String {
        switch text(period) {
        case "1d": "day"
        case let one where one.first == "1" && one.dropFirst().first?.isLetter == true: String(one.dropFirst())
        case let other: other
        }
    }
}
