import IssueBrowsing
package import IssueProtocol
import Issues
import UnixIO

/// `issuectl records`: lists single records.
struct RecordsCommand: Command {
    static let specification = CommandSpecification(
        name: "records", summary: "List single records, newest first",
        sections: [
            ("Filter", FilterOptions.ofRecords),
            ("Output", PagingOptions.recordOptions),
        ],
        notes: [FilterOptions.timeNote],
        examples: [
            "issuectl records --group g92c9da597585468b --limit 5",
            "issuectl records --fate dead_lettered --destination logzio",
        ])

    private let filter: IssueFilter?
    private let paging: PagingOptions

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        filter = try FilterOptions.filter(arguments, at: now)
        paging = try PagingOptions(arguments, orders: [.newest, .oldest])
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let filter = try AbbreviatedID.completed(self.filter, in: context)
        try paging.print(
            CollectorCalls.records, Self.columns, empty: filter == nil ? "No records." : "No records match.",
            in: context
        ) { limit, after in
            RecordsParameters(filter: filter, order: paging.order, limit: limit, after: after)
        } rows: { reply in
            reply.records.map { row($0, now: context.now) }
        }
    }

    private static let columns = [
        Column("ID"),
        Column("RECEIVED", expendability: 3),
        Column("SEVERITY", expendability: 2),
        Column("COUNT", alignment: .right, expendability: 5),
        Column("APP", maximum: 24, expendability: 4),
        Column("MESSAGE", minimum: 20),
    ]

    private func row(_ stored: StoredRecord, now: IssueTimestamp) -> [Cell] {
        let record = stored.record
        return [
            Cell(stored.id),
            Cell(RelativeTime.text(stored.receivedAt, now: now)),
            record.severity.map { Cell($0.name, style: TextStyle($0)) } ?? Cell("-"),
            Cell(Quantity.text(record.count ?? 1)),
            Cell(record.app?.name ?? stored.sender.command ?? "-"),
            Cell(record.message),
        ]
    }
}

/// `issuectl follow`: shows new records as they arrive, until interrupted.
struct FollowCommand: Command {
    static let specification = CommandSpecification(
        name: "follow", summary: "Show new records as they arrive, until interrupted",
        sections: [("Filter", FilterOptions.ofRecords)],
        hasTimeout: false,
        notes: [
            "Each line begins with the id of the record, which issuectl show and explain accept. With --since, the "
                + "records since TIME are shown first. " + FilterOptions.timeNote,
            "If the daemon stops, the command waits until the daemon runs again, then continues with the records that "
                + "were not yet shown.",
            "With --json, too, the output is one JSON object per line, because the stream has no end.",
        ],
        examples: ["issuectl follow --severity error", "issuectl follow --ndjson --app shop"])

    private var filter: IssueFilter

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        filter = try FilterOptions.filter(arguments, at: now) ?? IssueFilter()
        // Shows only new records by default.
        filter.since = filter.since ?? now
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        var progress = FollowProgress(try AbbreviatedID.completed(filter, in: context) ?? filter)
        var hasConnected = false
        var isWaiting = false
        while true {
            do throws(FollowEnd) {
                let session: BrowserSession<FollowEnd>
                do throws(CollectorConnectionError) {
                    session = BrowserSession(link: try context.connect()) { .connection($0) }
                } catch {
                    throw .connection(error)
                }
                if isWaiting { context.warn("connected again") }
                (hasConnected, isWaiting) = (true, false)
                let parameters = RecordsParameters(filter: progress.filter, order: .oldest, follow: true)
                try session.stream(CollectorCalls.records, parameters) { answer throws(FollowEnd) in
                    do throws(CommandFailure) {
                        try show(answer, &progress, in: context)
                    } catch {
                        throw .command(error)
                    }
                }
            } catch {
                switch error {
                case .command(let failure): throw failure
                case .connection(let error):
                    guard hasConnected, error.isTemporary else { throw CommandFailure(error) }
                }
            }
            if !isWaiting { context.warn("the daemon ended the stream; waiting until it runs again") }
            isWaiting = true
            context.reporting.sleep(Self.pause)
        }
    }

    /// The time between attempts to connect again.
    private static let pause: Duration = .seconds(1)

    private enum FollowEnd: Error {
        case connection(CollectorConnectionError)
        case command(CommandFailure)
    }

    private func show(
        _ answer: BrowserReply<RecordsReply>, _ progress: inout FollowProgress, in context: CommandContext
    ) throws(CommandFailure) {
        // A JSON document would never end, so `--json` prints one object per line, as `--ndjson` does.
        let elements = context.format == .human ? [] : answer.elements(of: "records")
        for (index, record) in answer.value.records.enumerated() where progress.isNew(record) {
            if context.format == .human {
                try context.print(line(record, in: context))
            } else if elements.indices.contains(index) {
                try context.print(json: elements[index])
            }
        }
    }

    /// Returns a line such as `she6zsjknpxv-24c4 2026-11-21 11:57:00Z error    shop: The disk is full`.
    private func line(_ stored: StoredRecord, in context: CommandContext) -> String {
        let record = stored.record
        let severity = record.severity ?? .error
        let count = record.count ?? 1
        let head = "\(TerminalSanitizer.line(stored.id)) \(PageTime.second(stored.receivedAt)) "
        let word = Fitting.pad(severity.name, to: 8)
        let app = record.app?.name ?? stored.sender.command ?? "uid \(context.user(stored.sender.uid))"
        let body = TerminalSanitizer.line(
            " \(app): \(count > 1 ? "(\(Quantity.text(count)) times) " : "")\(record.message)")
        guard let width = context.width else { return head + context.painter(word, TextStyle(severity)) + body }
        let left = Fitting.cut(head + word, to: width)
        guard left == head + word else { return left }
        return head + context.painter(word, TextStyle(severity)) + Fitting.cut(body, to: width - DisplayWidth.of(left))
    }
}

/// Remembers the last records that `follow` has shown, so that they are not shown again after a reconnection.
package struct FollowProgress {
    /// The filter for the next connection.
    package private(set) var filter: IssueFilter
    /// The ids of the last records, and the same ids in the order of arrival.
    private var shown: Set<String> = []
    private var order: [String] = []
    private var newest: IssueTimestamp?

    /// The filter for the next connection starts this long before the time of the newest record, because the times of
    /// records go backwards if the wall clock is set back.
    private static let overlap: Duration = .seconds(10)
    /// The maximum number of remembered records. If more than half as many arrive within `overlap`, some may be shown
    /// again after a reconnection.
    package static let maxRemembered = 100_000
    /// The number of remembered records, for tests.
    package var rememberedCount: Int { shown.count }

    package init(_ filter: IssueFilter) {
        self.filter = filter
    }

    /// Returns `true` if a record is not among the remembered ones, and remembers it.
    package mutating func isNew(_ record: StoredRecord) -> Bool {
        guard shown.insert(record.id).inserted else { return false }
        order.append(record.id)
        if order.count > Self.maxRemembered {
            shown.subtract(order.prefix(Self.maxRemembered / 2))
            order.removeFirst(Self.maxRemembered / 2)
        }
        let newest = max(self.newest ?? record.receivedAt, record.receivedAt)
        self.newest = newest
        let start = newest.advanced(by: .zero - Self.overlap)
        filter.since = max(filter.since ?? start, start)
        return true
    }
}
