import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl list`: lists groups, which users call issues.
struct ListCommand: Command {
    static let sparkline = OptionSpecification(
        "sparkline", "Show the activity over time (default on terminals that are at least 120 columns wide)")

    static let newSinceDeploy = OptionSpecification(
        "new-since-deploy", "Only issues first seen after the last declared deployment of their application")
    static let goneSinceDeploy = OptionSpecification(
        "gone-since-deploy",
        "Only issues last seen before the last declared deployment of their application and after the previous one, "
            + "if any")

    static let specification = CommandSpecification(
        name: "list", summary: "List issues, most recently active first",
        sections: [
            ("Filter", FilterOptions.all + [newSinceDeploy, goneSinceDeploy]),
            ("Output", PagingOptions.options + [sparkline]),
        ],
        notes: [
            "COUNT is the number of occurrences. With filter options that select single records, such as -p or --since, "
                + "it counts only these records; --text, --metadata, --trace, --request and --end-user select whole "
                + "issues. USER is shown if the issues on the page belong to more than one user.",
            FilterOptions.timeNote,
        ],
        examples: [
            "issuectl list --severity error --since 24h", "issuectl list --app shop --order most --limit 10",
            "issuectl list --app shop --new-since-deploy",
        ])

    /// The minimum width of a terminal, in columns, at which the sparkline is shown by default: there is room for it
    /// and all other columns.
    private static let roomyWidth = 120
    /// The number of buckets of a sparkline.
    private static let buckets = 24

    private let filter: IssueFilter?
    private let paging: PagingOptions
    private let wantsSparkline: Bool

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        var filter = try FilterOptions.filter(arguments, at: now)
        if arguments.has(Self.newSinceDeploy), arguments.has(Self.goneSinceDeploy) {
            throw UsageError("--new-since-deploy and --gone-since-deploy cannot be used together")
        }
        if arguments.has(Self.newSinceDeploy) || arguments.has(Self.goneSinceDeploy) {
            filter = filter ?? IssueFilter()
            filter?.sinceDeployment = arguments.has(Self.newSinceDeploy) ? .new : .gone
        }
        self.filter = filter
        paging = try PagingOptions(arguments)
        wantsSparkline = arguments.has(Self.sparkline)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let filter = try AbbreviatedID.completed(self.filter, in: context)
        let isRoomy = context.format == .human && context.width.map { $0 >= Self.roomyWidth } ?? false
        let hasSparkline = wantsSparkline || isRoomy
        try paging.print(
            CollectorCalls.list, columns(hasSparkline: hasSparkline),
            empty: filter == nil ? "No issues." : "No issues match.",
            in: context
        ) { limit, after in
            ListParameters(
                filter: filter, order: paging.order, limit: limit, after: after,
                sparkline: hasSparkline ? Self.buckets : nil)
        } rows: { reply in
            // Each name is looked up once, because that may take a request to a directory server.
            let ids = Set(reply.groups.map(\.user))
            let users = Dictionary(uniqueKeysWithValues: ids.map { ($0, context.user($0)) })
            return reply.groups.map { group in
                row(group, user: users[group.user] ?? "", hasSparkline: hasSparkline, in: context)
            }
        }
    }

    private func columns(hasSparkline: Bool) -> [Column] {
        let isDay = filter?.since == nil && filter?.until == nil
        var columns = [
            Column("ID"),
            Column("SEVERITY"),
            Column("COUNT", alignment: .right, expendability: 3),
            Column("LAST SEEN", expendability: 6),
            Column("APP", maximum: 24, expendability: 4),
            Column("USER", maximum: 24, expendability: 5, isOmittedIfUniform: true),
        ]
        if hasSparkline { columns.append(Column(isDay ? "LAST 24 HOURS" : "ACTIVITY", expendability: 9)) }
        if showsMutes { columns.append(Column("ENDS", expendability: 1)) }
        if showsChanges {
            columns += [Column("BY", expendability: 8), Column("NOTE", maximum: 40, expendability: 7)]
        }
        return columns + [Column("TITLE", minimum: 20)]
    }

    private func row(
        _ group: IssueGroup, user: String, hasSparkline: Bool, in context: CommandContext
    ) -> [Cell] {
        var row = [
            Cell(group.id),
            Cell(group.level.name, style: TextStyle(group.level)),
            Cell(Quantity.text(group.occurrences)),
            Cell(RelativeTime.text(group.lastSeen, now: context.now)),
            Cell(group.app ?? "-"),
            Cell(user),
        ]
        if hasSparkline { row.append(Cell(Sparkline.text(group.sparkline))) }
        if showsMutes { row.append(Cell(muteEnd(of: group, now: context.now))) }
        if showsChanges {
            row.append(Cell(group.stateChange.map { "user \(context.user($0.user))" } ?? "-"))
            row.append(Cell(group.stateChange?.note ?? "-"))
        }
        return row + [Cell(group.markedTitle)]
    }

    /// Returns when the mute of a group ends, such as `in 2 h`, `after 5 more` or both; `-` if neither a time nor a
    /// count ends it.
    private func muteEnd(of group: IssueGroup, now: IssueTimestamp) -> String {
        let time = group.mutedUntil.map { RelativeTime.text($0, now: now) }
        let count = group.mutedUntilCount.map { "after \(Quantity.text($0)) more" }
        let ends = [time, count].compactMap(\.self)
        return ends.isEmpty ? "-" : ends.joined(separator: " or ")
    }

    /// Whether the filter selects only resolved or muted groups. The list then shows who set the state.
    private var showsChanges: Bool { filter?.states.map { !$0.isEmpty && !$0.contains(.open) } ?? false }

    private var showsMutes: Bool { showsChanges && filter?.states?.contains(.muted) == true }
}
