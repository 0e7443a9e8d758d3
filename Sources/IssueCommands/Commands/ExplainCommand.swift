import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl explain`: prints the reasons why a record is in its group.
struct ExplainCommand: Command {
    static let specification = CommandSpecification(
        name: "explain", summary: "Explain why a record belongs to an issue", operands: .one("ID"),
        operandSources: [.groups],
        notes: [
            "ID is the id of a record, or of an issue for its newest record. The id of an issue that was merged into "
                + "another one is accepted, too."
        ],
        examples: ["issuectl explain she6zsjknpxv-24c4", "issuectl explain g92c9da597585468b"])

    private let id: String

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        id = arguments.operands.first ?? ""
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let answer = try context.collector().explain(id)
        try context.print(answer) { explanation in
            var page = TextPage(painter: context.painter)
            let group = explanation.group
            page.heading("\(group.id)  \(group.title)")
            page.fields([
                ("Application", group.app),
                ("Fingerprint", explanation.fingerprint),
                ("Origin", Self.origin(explanation)),
                ("Template", explanation.template),
                ("Domain", group.domain),
                ("Code", group.code.map(String.init)),
                ("File", group.fileID),
                ("Function", group.function),
                ("Other ids", Self.otherIDs(explanation)),
            ])
            if !explanation.corrections.isEmpty {
                page.heading("Corrections")
                page.add(explanation.corrections.map { CorrectionText.line($0, now: context.now) })
            }
            return page.lines
        }
        return .success
    }

    private static func origin(_ explanation: GroupExplanation) -> String {
        if explanation.isChosen { return "chosen by the sender" }
        let rule = explanation.rule.map { "rule \($0)" } ?? "an unknown rule"
        return "computed by \(rule) from application, domain, code, module, file, function and template"
    }

    private static func otherIDs(_ explanation: GroupExplanation) -> String? {
        let others = explanation.ids.filter { $0 != explanation.group.id }
        return others.isEmpty ? nil : others.joined(separator: ", ")
    }
}
