import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl follow`: shows new records as they arrive, until interrupted.
struct FollowCommand: Command {
    static let specification = CommandSpecification(
        name: "follow", summary: "Show new records as they arrive, until interrupted",
        sections: [("Filter", FilterOptions.ofRecords)],
        notes: ["With --since, earlier records from that time on are shown first. " + FilterOptions.timeNote],
        examples: ["issuectl follow --severity error", "issuectl follow --ndjson --app shop"])

    private var filter: IssueFilter

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        filter = try FilterOptions.filter(arguments, at: now) ?? IssueFilter()
        // Shows only new records by default.
        filter.since = filter.since ?? now
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let parameters = RecordsParameters(filter: filter, order: .oldest, follow: true)
        try context.collector().follow(parameters) { answer throws(CommandFailure) in
            switch context.format {
            case .human: try context.print(answer.value.records.map { line($0, in: context) })
            // A JSON document would never end, so both formats print one object per line.
            case .json, .lines: for record in answer.elements(of: "records") { try context.print(json: record) }
            }
        }
        throw CommandFailure(.unavailable, "the daemon ended the stream: is it stopping? (systemctl status issued)")
    }

    private func line(_ stored: StoredRecord, in context: CommandContext) -> String {
        let record = stored.record
        let severity = record.severity ?? .error
        let count = record.count ?? 1
        let head = "\(PageTime.second(stored.receivedAt)) "
        let word = Fitting.pad(severity.name, to: 8)
        let app = record.app?.name ?? stored.sender.command ?? "uid \(stored.sender.uid)"
        let body = TerminalSanitizer.line(" \(app): \(count > 1 ? "(\(count) times) " : "")\(record.message)")
        guard let width = context.width else { return head + context.painter(word, TextStyle(severity)) + body }
        let left = Fitting.cut(head + word, to: width)
        guard left == head + word else { return left }
        return head + context.painter(word, TextStyle(severity)) + Fitting.cut(body, to: width - DisplayWidth.of(left))
    }
}
