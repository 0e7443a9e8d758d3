import IssueBrowsing
import IssueProtocol
import Issues

/// Says something of a group, and shows it as it is then: what `resolve`, `mute` and `reopen` have in common.
struct StateChange {
    static let untilNewerVersion = OptionSpecification(
        "until-newer-version", "Until a version of the application shows it that is newer than all so far")

    private let parameters: SetStateParameters

    init(_ parameters: SetStateParameters) {
        self.parameters = parameters
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let answer = try context.collector().setState(parameters)
        switch context.format {
        case .human: try context.print(line(answer.value.group, now: context.now))
        case .json, .lines: try context.print(json: answer.json)
        }
        return .success
    }

    /// `g7 is muted until 2026-11-22T00:00:00.000Z (in 12 h): No space left on /srv`.
    private func line(_ group: IssueGroup, now: Timestamp) -> String {
        var text = "\(group.id) is \(group.state.name)"
        if let until = group.mutedUntil { text += " until \(PageTime.full(until, now: now))" }
        if parameters.untilNewerVersion == true {
            text += group.mutedUntil == nil ? " until a newer version shows it" : ", or until a newer version shows it"
        }
        return HarmlessText.line("\(text): \(group.title)")
    }
}
