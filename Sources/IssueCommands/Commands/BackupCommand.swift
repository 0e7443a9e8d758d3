import IssueBrowsing
import IssueProtocol
import Issues

/// `issuectl backup`: has the daemon copy its store and writes the copy to the requested place.
struct BackupCommand: Command {
    static let specification = CommandSpecification(
        "backup", "Copy the daemon's whole store while it runs", operands: .optional("FILE"),
        notes: [
            "Without FILE, the copy is stored next to the database, in the daemon's own folder. With FILE, it is "
                + "written there, readable by you alone, and the daemon keeps none. An existing FILE is not "
                + "overwritten; if FILE is a folder, a new file is created in it. The operator's guide explains how "
                + "to restore a copy."
        ],
        examples: ["issuectl backup", "issuectl backup /srv/copies/"])

    private let file: String?

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        file = arguments.operands.first
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        guard let file else { return try runInPlace(context) }
        // A copy takes long, and would be for nothing.
        try context.files.check(file)
        let collector = try context.collector()
        var (answer, copy) = try collector.backup { tell($0, context) }
        context.tellProgress("")
        guard let copy else {
            let path = answer.value.path.map { ", and left one at \($0)" } ?? ""
            throw CommandFailure(
                .refused, "the daemon passed no copy\(path): it may be older than issuectl; check with issuectl status")
        }
        let path = try context.files.save(copy, file, "issues.db.backup-\(context.now.text)")
        answer.value.path = path
        answer.value.descriptor = nil
        answer.json = answer.value.json
        return try print(answer, path, context)
    }

    private func runInPlace(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector()
        let answer: Answer<BackupReply> = try collector.order(.backup, BackupParameters().json) { tell($0, context) }
        context.tellProgress("")
        guard let path = answer.value.path else { throw collector.senseless("it names no file") }
        return try print(answer, path, context)
    }

    private func tell(_ reply: BackupReply, _ context: CommandContext) {
        context.tellProgress("\(Quantity.bytes(reply.bytesDone)) of \(Quantity.bytes(reply.bytesTotal)) copied")
    }

    private func print(
        _ answer: Answer<BackupReply>, _ path: String, _ context: CommandContext
    ) throws(CommandFailure) -> ExitCode {
        switch context.format {
        case .human: try context.print("\(HarmlessText.line(path)): \(Quantity.bytes(answer.value.bytesTotal))")
        case .json, .lines: try context.print(json: answer.json)
        }
        return .success
    }
}
