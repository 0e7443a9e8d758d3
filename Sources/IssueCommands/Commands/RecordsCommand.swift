import IssueBrowsing
import IssueProtocol
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

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let filter = try AbbreviatedID.completed(self.filter, in: context)
        let collector = try context.collector()
        let table = Table(Self.columns, width: context.width, painter: context.painter)
        try Paging(
            context: context, count: paging.count(in: context), isLimited: paging.limit != nil, member: "records"
        ).run(
            table, empty: filter == nil ? "No records." : "No records match."
        ) { limit, after throws(CommandFailure) in
            let answer = try collector.call(
                CollectorCalls.records,
                RecordsParameters(filter: filter, order: paging.order, limit: limit, after: after))
            return Paging.ResultPage(
                elements: answer.elements(of: "records"),
                rows: answer.value.records.map { row($0, now: context.now) },
                next: answer.value.next)
        }
        return .success
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
            Cell(String(record.count ?? 1)),
            Cell(record.app?.name ?? stored.sender.command ?? "-"),
            Cell(record.message),
        ]
    }
}

/// `issuectl show`: shows one record with all details.
struct ShowCommand: Command {
    static let specification = CommandSpecification(
        name: "show", summary: "Show all details of a record, or of a group's newest record", operands: .one("ID"),
        operandSources: [.groups],
        examples: ["issuectl show g92c9da597585468b", "issuectl show g92c9da597585468b --json"])

    private let id: String

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        id = arguments.operands.first ?? ""
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector()
        let answer = try AbbreviatedID.call(id, collector) { (id) throws(CommandFailure) in
            try collector.call(CollectorCalls.show, IDParameters(id: id))
        }
        try context.print(answer) { reply in
            RecordDetails(reply, in: context).lines
        }
        return .success
    }
}
