import Issues
import Synchronization
import Testing

@testable import IssuesPresenting

private struct Bare: PresentableError {}

private struct Own: ReportableError {
    var message: String { "card 17 refused" }
    var underlyingErrors: [any Error] { [Bare()] }
}

/// A sink that stores the messages of the reports that it receives.
private final class Collector: IssueSink {
    private let stored = Mutex<[String]>([])

    var messages: [String] { stored.withLock { $0 } }

    func receive(_ report: IssueReport) {
        stored.withLock { $0.append(report.message) }
    }
}

@Suite("Errors for users", .serialized)
struct PresenterTests {
    @Test("Every requirement of a presentable error has a default")
    func defaults() {
        let error = Bare()
        #expect(error.userMessage == nil)
        #expect(error.source == .internalInconsistency)
        #expect(error.title == error.source.title)
        guard case .acknowledge = error.recovery else {
            Issue.record("The recovery is \(error.recovery)")
            return
        }
    }

    @Test("A reportable error with a user message is shown, with the heading of an internal inconsistency")
    func reportable() {
        struct Told: ReportableError {
            var userMessage: String? { "Try again tomorrow." }
        }
        let presenter = ScriptedPresenter()
        withIssueReporters([]) {
            withErrorResponders(.present(on: presenter)) { reportIssue(Told()) }
        }
        #expect(presenter.prompts.map(\.message) == ["Try again tomorrow."])
        #expect(presenter.prompts.map(\.title) == [IssueErrorSource.internalInconsistency.title])
        #expect(presenter.prompts.map(\.options.count) == [1])
    }

    @Test("The reporters run first, then the user is asked, then the chosen option runs")
    func order() {
        let collector = Collector()
        let presenter = ScriptedPresenter("Work offline")
        let chosen = Mutex<[String]>([])
        withIssueReporters([collector]) {
            withErrorResponders(.handle { Issue.record("The presenter did not handle the error") }) {
                withErrorResponders(.present(on: presenter)) {
                    reportIssue(
                        IssueProblem(
                            "No server.", source: .externalSystemUnavailable,
                            recovery: .heal(
                                .retry { chosen.withLock { $0.append("retry") } },
                                IssueRecovery.Option("Work offline") {
                                    chosen.withLock { $0.append("offline, \(collector.messages.count) told") }
                                })))
                }
            }
        }
        #expect(collector.messages == ["No server."])
        #expect(chosen.withLock { $0 } == ["offline, 1 told"])
        #expect(presenter.prompts.map(\.title) == [IssueErrorSource.externalSystemUnavailable.title])
        #expect(presenter.prompts.map { $0.options.map(\.style) } == [[.recommended, .normal]])
    }

    @Test("An error without a user message is not shown, and is reported once")
    func plain() {
        let collector = Collector()
        let presenter = ScriptedPresenter()
        withIssueReporters([collector]) {
            withErrorResponders(.present(on: presenter)) {
                reportIssue(Bare())
                reportIssue("words")
            }
        }
        #expect(presenter.prompts.isEmpty)
        #expect(collector.messages == ["Bare()", "words"])
    }

    @Test("An error that the chosen option reports reaches the reporters, and is not shown by the same presenter")
    func failingChoice() {
        let collector = Collector()
        let presenter = ScriptedPresenter("Again")
        withIssueReporters([collector]) {
            withErrorResponders(.present(on: presenter)) {
                let again = IssueRecovery.Option("Again") { reportIssue(IssueProblem("Two")) }
                reportIssue(IssueProblem("One", recovery: .heal(again)))
            }
        }
        #expect(collector.messages == ["One", "Two"])
        #expect(presenter.prompts.count == 1)
    }

    @Test("If no user can be asked, the first normal option is chosen, even if other options come before it")
    func nobody() {
        let chosen = Mutex("")
        func option(_ title: String, _ style: IssueRecovery.Option.Style) -> IssueRecovery.Option {
            IssueRecovery.Option(title, style: style) { chosen.withLock { $0 = title } }
        }
        let prompt = IssuePrompt(
            title: "t", message: "m", option("erase", .destructive),
            [option("again", .recommended), option("leave", .normal)])
        (.terminal as IssueTerminalPresenter).choose(prompt).handler()
        #expect(chosen.withLock { $0 } == "leave")
    }

    @Test("An IssueProblem derives its message and title from its arguments")
    func problem() {
        let problem = IssueProblem("Nobody home.", source: .externalSystemBehavedUnexpectedly, cause: Own())
        #expect(problem.message == "Nobody home.")
        #expect(problem.userMessage == "Nobody home.")
        #expect(problem.title == IssueErrorSource.externalSystemBehavedUnexpectedly.title)
        let report = IssueReport(problem)
        #expect(report.causes.map(\.message) == ["card 17 refused", "Bare()"])
    }

    @Test("Titles and options are available in English, German and custom texts")
    func texts() {
        let former = IssuePresenterTexts.current
        defer { IssuePresenterTexts.current = former }
        IssuePresenterTexts.current = .german
        #expect(
            IssueErrorSource.allCases.map(\.title) == [
                "Ungültige Nutzereingabe", "Interner Fehler", "Externes System nicht verfügbar",
                "Unerwartetes Verhalten",
            ])
        #expect(IssueRecovery.Option.cancel.title == "Abbrechen")
        IssuePresenterTexts.current = .english
        #expect(
            IssueErrorSource.allCases.map(\.title) == [
                "Invalid User Input", "Internal Inconsistency", "External System Unavailable", "Unexpected Behavior",
            ])
        var own = IssuePresenterTexts()
        own.cancel = "Laat maar"
        IssuePresenterTexts.current = own
        #expect(IssueRecovery.Option.cancel.title == "Laat maar")
    }

    @Test("The texts are German only if the language code of the environment is exactly de")
    func language() {
        func title(_ variables: String?...) -> String { IssuePresenterTexts.forLanguage(of: variables).retry }
        let german = IssuePresenterTexts.german.retry
        for variable in ["de", "de_AT.UTF-8", "de:en", "de@euro"] { #expect(title(nil, "", variable) == german) }
        for variable in ["den_CA.UTF-8", "en_US.UTF-8", "C"] { #expect(title(variable, "de") != german) }
        #expect(title() != german)
    }

    @Test("An answer is the number of one option, or blank for the preferred one")
    func answers() {
        func index(_ line: String) -> Int? { IssueTerminalPresenter.index(in: line, of: 12, preferred: 4) }
        #expect(index("") == 4 && index(" \t") == 4)
        #expect(index("1") == 0 && index(" 12 ") == 11)
        for line in ["1 2", "0", "13", "-1", "x", "\(Int.min)", "99999999999999999999"] { #expect(index(line) == nil) }
    }

    @Test("A report of a presentable error has its source and its recovery as metadata")
    func metadata() {
        struct Refused: PresentableError {
            var source: IssueErrorSource { .externalSystemUnavailable }
            var recovery: IssueRecovery { .heal(.retry {}, .cancel) }
            var userInfo: IssueMetadata { ["card": 7] }
        }
        struct Renamed: PresentableError {
            var userInfo: IssueMetadata { ["recovery": "own"] }
        }
        #expect(
            IssueReport(Refused()).metadata == [
                "card": 7, "error_source": "externalSystemUnavailable",
                "recovery": [
                    .init(IssuePresenterTexts.current.retry), .init(IssuePresenterTexts.current.cancel),
                ],
            ])
        #expect(
            IssueReport(IssueProblem("a", source: .invalidUserInput, recovery: .terminate)).metadata == [
                "error_source": "invalidUserInput", "recovery": "terminate",
            ])
        #expect(
            IssueReport(Renamed()).metadata == ["error_source": "internalInconsistency", "recovery": "own"])
    }
}
