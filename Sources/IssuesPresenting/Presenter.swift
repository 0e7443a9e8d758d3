internal import IssueWire
public import Issues
internal import Synchronization
internal import UnixIO

/// A user interface that shows errors and asks the user how to proceed.
public protocol IssuePresenter: Sendable {
    /// Shows a prompt and returns the option that the user chose.
    ///
    /// Called on the reporting thread, which blocks until the function returns. The caller runs the handler of the
    /// option.
    ///
    /// - Parameter prompt: The texts and options to show.
    /// - Returns: One of the options of `prompt`.
    func choose(_ prompt: IssuePrompt) -> IssueRecovery.Option
}

/// The texts and options that users see for an error.
public struct IssuePrompt: Sendable {
    /// The heading.
    public var title: String
    /// The message for users.
    public var message: String
    /// The options that the user can choose from. There is at least one.
    public let options: [IssueRecovery.Option]

    /// Creates a prompt.
    ///
    /// - Parameters:
    ///   - title: The heading.
    ///   - message: The message for users.
    ///   - first: The first option.
    ///   - others: Further options.
    public init(title: String, message: String, _ first: IssueRecovery.Option, _ others: [IssueRecovery.Option] = []) {
        self.title = title
        self.message = message
        options = [first] + others
    }

    /// The option to use if no user can be asked: the first option of style `normal` or, if there is none, the first
    /// option.
    public var ordinaryOption: IssueRecovery.Option {
        options.first { $0.style == .normal } ?? options[0]
    }

    /// Creates the prompt for an error. Returns nil if the error has no message for users.
    init?(_ error: any Error) {
        let texts = IssuePresenterTexts.current
        let reportable = error as? any ReportableError
        // The localised description of a `ReportableError` may be its message, which is for developers.
        let localized = FoundationReading.reader?.userMessage(of: error)
        guard let message = reportable?.userMessage ?? (localized == reportable?.message ? nil : localized) else {
            return nil
        }
        let presentable = error as? any PresentableError
        let title = presentable?.title ?? (reportable == nil ? texts.unknownError : texts.internalInconsistency)
        switch presentable?.recovery ?? .acknowledge {
        case .acknowledge: self.init(title: title, message: message, IssueRecovery.Option(texts.okay) {})
        case .terminate:
            self.init(title: title, message: message, IssueRecovery.Option(texts.terminate, style: .destructive) {})
        case .heal(let first, let others): self.init(title: title, message: message, first, others)
        }
    }
}

/// The texts of prompts.
///
/// English and German are built in; the environment of the process determines which is used. To support another
/// language, create a value and assign it to ``current``.
public struct IssuePresenterTexts: Hashable, Sendable {
    /// The heading for invalid user input.
    public var invalidUserInput = "Invalid User Input"
    /// The heading for an inconsistency within the program.
    public var internalInconsistency = "Internal Inconsistency"
    /// The heading for an unavailable system outside the program.
    public var externalSystemUnavailable = "External System Unavailable"
    /// The heading for incorrect behaviour of a system outside the program.
    public var externalSystemBehavedUnexpectedly = "Unexpected Behavior"
    /// The heading for an error of unknown origin.
    public var unknownError = "Unknown Error"
    /// The option that acknowledges an error.
    public var okay = "Okay"
    /// The option that ends the program.
    public var terminate = "Terminate App"
    /// The option that changes nothing.
    public var cancel = "Cancel"
    /// The option that tries again.
    public var retry = "Try Again"
    /// The request for the number of an option.
    public var choose = "Your choice"

    /// Creates a copy of the English texts, which can be changed.
    public init() {}

    /// The English texts.
    public static let english = IssuePresenterTexts()

    /// The German texts.
    public static let german: IssuePresenterTexts = {
        var texts = IssuePresenterTexts()
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
        IssuePresenterTexts.forLanguage(
            of: ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"].map { ProcessEnvironment[$0] }))

    /// The texts in use. Initially those for the language of the environment.
    public static var current: IssuePresenterTexts {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    /// Returns the German texts if the first value that is not empty begins with the language `de`, for example
    /// `de_AT.UTF-8`; otherwise the English texts.
    static func forLanguage(of variables: [String?]) -> IssuePresenterTexts {
        let language = variables.lazy.compactMap(\.self).first { !$0.isEmpty }
        return language?.prefix(while: \.isLetter) == "de" ? .german : .english
    }
}

/// A presenter that asks on the terminal.
///
/// If standard input or standard error is not a terminal, or the process runs in the background, the presenter shows
/// nothing and returns ``IssuePrompt/ordinaryOption``. A prompt with a single option is shown, but the user is not
/// asked.
public struct IssueTerminalPresenter: IssuePresenter {
    init() {}

    /// Writes the prompt to standard error and reads the number of an option from standard input.
    ///
    /// Asks again until the number is valid. An empty line chooses the recommended option, or the first one if none is
    /// recommended. Returns ``IssuePrompt/ordinaryOption`` at the end of the input.
    ///
    /// - Parameter prompt: The texts and options to show.
    /// - Returns: The chosen option.
    public func choose(_ prompt: IssuePrompt) -> IssueRecovery.Option {
        // The kernel would stop a background process that reads from the terminal.
        guard StandardStream.input.isForegroundTerminal, StandardStream.error.isTerminal else {
            return prompt.ordinaryOption
        }
        write(TerminalSanitizer.line(prompt.title) + "\n")
        for line in TerminalSanitizer.lines(prompt.message) { write(line + "\n") }
        guard prompt.options.count > 1 else { return prompt.options[0] }
        for (index, option) in prompt.options.enumerated() {
            write("  \(index + 1)) \(TerminalSanitizer.line(option.title))\n")
        }
        let preferred = prompt.options.firstIndex { $0.style == .recommended } ?? 0
        while true {
            write("\(TerminalSanitizer.line(IssuePresenterTexts.current.choose)) [\(preferred + 1)]: ")
            guard let line = readLine(strippingNewline: true) else { return prompt.ordinaryOption }
            if let index = Self.index(in: line, of: prompt.options.count, preferred: preferred) {
                return prompt.options[index]
            }
        }
    }

    /// Returns the index of the option that a user has chosen; nil if the line is neither blank nor a single number of
    /// an option.
    static func index(in line: String, of count: Int, preferred: Int) -> Int? {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard let word = words.first else { return preferred }
        guard words.count == 1, let number = Int(word), (1...count).contains(number) else { return nil }
        return number - 1
    }

    private func write(_ text: String) {
        // If the terminal is gone, no user can be informed.
        try? StandardStream.error.writeAll(text)
    }
}

extension IssuePresenter where Self == IssueTerminalPresenter {
    /// A presenter that asks on the terminal, through standard error and standard input.
    public static var terminal: Self { Self() }
}

extension ErrorResponder {
    /// Creates a responder that shows errors to the user and runs the option that the user chooses.
    ///
    /// An error without a message for users is not handled. Other errors are sent to the reporters before they are
    /// shown. If the recovery of an error is ``IssueRecovery/terminate``, the process ends after the presenter has
    /// returned.
    ///
    /// - Parameter presenter: Shows the error and returns the chosen option.
    /// - Returns: The responder.
    public static func present(on presenter: any IssuePresenter) -> Self {
        Self { report in
            let error = report.propagatingError
            guard let prompt = IssuePrompt(error) else { return .notHandled }
            report.notifyReporters()
            presenter.choose(prompt).handler()
            if case .terminate? = (error as? any PresentableError)?.recovery {
                ShutdownFlush.run()
                Swift.fatalError(
                    TerminalSanitizer.line(report.redacted.message), file: report.site.filePath, line: report.site.line)
            }
            return .handled
        }
    }
}
