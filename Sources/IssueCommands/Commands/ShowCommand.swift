import IssueBrowsing
import IssueProtocol
import Issues

/// `issuectl show`: one record with everything that is known of it.
struct ShowCommand: Command {
    static let specification = CommandSpecification(
        "show", "Show everything about a record, or about the newest record of a group", operands: .one("ID"),
        examples: ["issuectl show g92c9da597585468b", "issuectl show g92c9da597585468b --json"])

    private let id: String

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        id = arguments.operands.first ?? ""
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let answer = try context.collector().show(id)
        switch context.format {
        case .human:
            let page = RecordPage(answer.value, now: context.now, width: context.width, painter: context.painter)
            try context.print(page.lines)
        case .json, .lines: try context.print(json: answer.json)
        }
        return .success
    }
}
