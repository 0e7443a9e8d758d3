import IssueBrowsing
import IssueProtocol
import Issues

/// `issuectl backup`: has the daemon copy its store, and takes the copy where it is wanted.
struct BackupCommand: Command {
    static let specification = CommandSpecification(
        "backup", "Copy the daemon's whole store while it runs", operands: .optional("FILE"),
        notes: [
            "The copy lies beside the database, in the daemon's own folder; with FILE it is moved there, which only root "
                + "can do. A FILE that is there already is not overwritten; in a folder the copy keeps its name. How to "
                + "go back to it stands in the operator's guide."
        ],
        examples: ["issuectl backup", "issuectl backup /srv/copies/"])

    private let file: String?

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        file = arguments.operands.first
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        // A copy takes long, and would be for nothing.
        if let file { try context.moveFile.check(file) }
        let collector = try context.collector()
        var answer: Answer<BackupReply> = try collector.order(.backup, Array("{}".utf8)) { reply in
            context.tellProgress("\(Quantity.bytes(reply.bytesDone)) of \(Quantity.bytes(reply.bytesTotal)) copied")
        }
        context.tellProgress("")
        guard var path = answer.value.path else { throw collector.senseless("it names no file") }
        if let file {
            path = try context.moveFile.move(path, file)
            answer.value.path = path
            answer.json = answer.value.json
        }
        switch context.format {
        case .human: try context.print("\(HarmlessText.line(path)): \(Quantity.bytes(answer.value.bytesTotal))")
        case .json, .lines: try context.print(json: answer.json)
        }
        return .success
    }
}
