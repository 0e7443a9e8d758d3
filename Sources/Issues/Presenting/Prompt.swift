/// What people are shown of an error, and asked.
public struct Prompt: Sendable {
    /// The heading.
    public var title: String
    /// What happened, in words for people.
    public var message: String
    /// What can be done; one option at least.
    public let options: [HealingOption]

    /// A question with one answer or more.
    public init(title: String, message: String, _ first: HealingOption, _ others: [HealingOption] = []) {
        self.title = title
        self.message = message
        options = [first] + others
    }

    /// The option to take when nobody is there to ask: the first that is an ordinary one.
    public var ordinaryOption: HealingOption {
        options.first { $0.style == .normal } ?? options[0]
    }

    /// What to ask about an error; nil if it is nothing for people.
    init?(_ error: any Error) {
        let texts = PresenterTexts.current
        let reportable = error as? any ReportableError
        guard let message = reportable?.userMessage ?? FoundationReader.current?.userMessage(error) else { return nil }
        let title = reportable?.title ?? texts.unknownError
        switch reportable?.recovery ?? .acknowledge {
        case .acknowledge: self.init(title: title, message: message, HealingOption(texts.okay) {})
        case .terminate:
            self.init(title: title, message: message, HealingOption(texts.terminate, style: .destructive) {})
        case .heal(let first, let others): self.init(title: title, message: message, first, others)
        }
    }
}
