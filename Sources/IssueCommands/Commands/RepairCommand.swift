import IssueBrowsing
import IssueProtocol
import Issues

/// `issuectl repair`: brings over what is readable from databases that were set aside.
struct RepairCommand: Command {
    static let list = OptionSpecification("list", short: "l", "Only say which databases were set aside")

    static let specification = CommandSpecification(
        "repair", "Bring over what is readable from databases that were set aside", operands: .optional("FILE"),
        sections: [.init("How", [list])],
        notes: [
            "A database that could not be used lies beside the one in use, as issues.db.damaged-TIME. What can be read in "
                + "it is stored again, as new records that name their old id and time; what had been forwarded is not "
                + "forwarded again. Without FILE all of them have their turn. One that is done with is renamed, and left."
        ],
        examples: ["issuectl repair --list", "issuectl repair issues.db.damaged-2026-11-21T13:17:14.967Z"])

    private let parameters: RepairParameters

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        let name = arguments.operands.first.map { $0.split(separator: "/").last.map { String($0) } ?? $0 }
        parameters = RepairParameters(file: name, isDryRun: arguments.has(Self.list) ? true : nil)
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let notFound = parameters.file.map { "no database '\($0)' was set aside: see issuectl repair --list" }
        let answer: Answer<RepairReply> = try context.collector(notFound: notFound).order(.repair, parameters.json) {
            reply in
            context.publishProgress("\(Quantity.text(reply.recovered, "record")) brought over")
        }
        context.publishProgress("")
        switch context.format {
        case .human: try context.print(lines(answer.value))
        case .json, .lines: try context.print(json: answer.json)
        }
        return answer.value.hopeless.isEmpty ? .success : .refused
    }

    private func lines(_ reply: RepairReply) -> [String] {
        guard !reply.files.isEmpty else { return ["No database was set aside."] }
        guard parameters.isDryRun != true else { return reply.files.map { TerminalSanitizer.line($0) } }
        var lines: [String] = []
        let read = reply.files.filter { !reply.hopeless.contains($0) }
        if !read.isEmpty {
            var text = "\(Quantity.text(reply.recovered, "record")) brought over"
            if reply.unreadable > 0 { text += ", \(Quantity.text(reply.unreadable)) could not be read" }
            lines += ["\(text), from:"] + read.map { "  \(TerminalSanitizer.line($0))" }
        }
        if !reply.hopeless.isEmpty {
            lines += ["Nothing can be read of these, which stay as they are (journalctl -u issued says why):"]
            lines += reply.hopeless.map { "  \(TerminalSanitizer.line($0))" }
        }
        return lines
    }
}
