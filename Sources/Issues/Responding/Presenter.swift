internal import IssueWire
internal import Synchronization
internal import UnixIO

/// Shows people what went wrong, and asks what to do.
public protocol Presenter: Sendable {
    /// Asks, and answers with one of the prompt's options, which the caller then runs.
    ///
    /// Called on the thread that reports, which waits meanwhile.
    func choose(_ prompt: Prompt) -> HealingOption
}

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

/// The words with which people are asked what to do about an error.
///
/// English and German are there; the language is that of the process's
/// environment. An application with others makes a table of its own and puts it
/// into ``current``.
public struct PresenterTexts: Hashable, Sendable {
    /// The heading where somebody entered what makes no sense.
    public var invalidUserInput = "Invalid User Input"
    /// The heading where the program contradicts itself.
    public var internalInconsistency = "Internal Inconsistency"
    /// The heading where something is not there.
    public var externalSystemUnavailable = "External System Unavailable"
    /// The heading where something did what it should not.
    public var externalSystemBehavedUnexpectedly = "Unexpected Behavior"
    /// The heading where nothing is known of the error.
    public var unknownError = "Unknown Error"
    /// The option that takes note of an error.
    public var okay = "Okay"
    /// The option after which the program ends.
    public var terminate = "Terminate App"
    /// The option that leaves everything as it is.
    public var cancel = "Cancel"
    /// The option that tries again.
    public var retry = "Try Again"
    /// What asks for the number of an option.
    public var choose = "Your choice"

    /// The English texts, to change.
    public init() {}

    /// The English texts.
    public static let english = PresenterTexts()

    /// The German texts.
    public static let german: PresenterTexts = {
        var texts = PresenterTexts()
        texts.invalidUserInput = "Ungültige Nutzereingabe"
        texts.internalInconsistency = "Interner Fehler"
        texts.externalSystemUnavailable = "Externes System nicht verfügbar"
        texts.externalSystemBehavedUnexpectedly = "Unerwartetes Verhalten"
        texts.unknownError = "Unbekannter Fehler"
        texts.okay = "Okay"
        texts.terminate = "App beenden"
        texts.cancel = "Abbrechen"
        texts.retry = "Erneut versuchen"
        texts.choose = "Ihre Wahl"
        return texts
    }()

    private static let storage = Mutex(
        PresenterTexts.forLanguage(of: ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"].map { UnixIO.Environment[$0] }))

    /// The texts in use; at first those of the language in the environment.
    public static var current: PresenterTexts {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    /// The texts for the first variable that is set, such as `de_AT.UTF-8`.
    static func forLanguage(of variables: [String?]) -> PresenterTexts {
        let language = variables.lazy.compactMap(\.self).first { !$0.isEmpty }
        return language?.hasPrefix("de") == true ? .german : .english
    }
}

/// Asks on the terminal, by numbers.
///
/// Where there is no terminal, or but one option, nobody is asked.
public struct TerminalPresenter: Presenter {
    init() {}

    /// Shows title, message and options on standard error, and reads a number.
    public func choose(_ prompt: Prompt) -> HealingOption {
        // One that reads from the background would be stopped by the kernel.
        guard StandardStream.input.isForegroundTerminal, StandardStream.error.isTerminal else {
            return prompt.ordinaryOption
        }
        say(TerminalSanitizer.line(prompt.title) + "\n")
        for line in TerminalSanitizer.lines(prompt.message) { say(line + "\n") }
        guard prompt.options.count > 1 else { return prompt.options[0] }
        for (index, option) in prompt.options.enumerated() {
            say("  \(index + 1)) \(TerminalSanitizer.line(option.title))\n")
        }
        let preferred = prompt.options.firstIndex { $0.style == .recommended } ?? 0
        while true {
            say("\(TerminalSanitizer.line(PresenterTexts.current.choose)) [\(preferred + 1)]: ")
            guard let line = readLine(strippingNewline: true) else { return prompt.ordinaryOption }
            let answer = line.split(whereSeparator: \.isWhitespace).joined()
            if answer.isEmpty { return prompt.options[preferred] }
            if let number = Int(answer), prompt.options.indices.contains(number - 1) {
                return prompt.options[number - 1]
            }
        }
    }

    private func say(_ text: String) {
        // Nobody is left to be told when the terminal is gone.
        try? StandardStream.error.writeAll(text)
    }
}

extension Presenter where Self == TerminalPresenter {
    /// The terminal that the process was started on.
    public static var terminal: Self { Self() }
}
