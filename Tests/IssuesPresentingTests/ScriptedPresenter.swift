internal import Issues
internal import IssuesPresenting
internal import Synchronization

/// A presenter with predefined choices.
final class ScriptedPresenter: IssuePresenter {
    private let answers: Mutex<[String]>
    private let shown = Mutex<[IssuePrompt]>([])

    var prompts: [IssuePrompt] { shown.withLock { $0 } }

    /// - Parameter answers: The titles of the options to choose, in order. The prompt's ordinary option is chosen if it
    ///   has no option with the title, or if no titles are left.
    init(_ answers: String...) {
        self.answers = Mutex(answers)
    }

    func choose(_ prompt: IssuePrompt) -> IssueRecovery.Option {
        shown.withLock { $0.append(prompt) }
        let answer = answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        return prompt.options.first { $0.title == answer } ?? prompt.ordinaryOption
    }
}
