import Issues
import IssuesPresenting
import Synchronization
import Testing

private struct Bare: PresentableError {}

private struct Own: ReportableError {
    var message: String { "card 17 refused" }
    var underlyingErrors: [any Error] { [Bare()] }
}

/// A sink that stores the reports that it receives.
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
            Issue.record("It asks for \(error.recovery)")
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
        #expect(presenter.prompts.map(\.title) == [ErrorSource.internalInconsistency.title])
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
                        Problem(
                            "No server.", source: .externalSystemUnavailable,
                            recovery: .heal(
                                .retry { chosen.withLock { $0.append("retry") } },
                                HealingOption("Work offline") {
                                    chosen.withLock { $0.append("offline, \(collector.messages.count) told") }
                                })))
                }
            }
        }
        #expect(collector.messages == ["No server."])
        #expect(chosen.withLock { $0 } == ["offline, 1 told"])
        #expect(presenter.prompts.map(\.title) == [ErrorSource.externalSystemUnavailable.title])
        #expect(presenter.prompts.map { $0.options.map(\.style) } == [[.recommended, .normal]])
    }

    @Test("An error without a user message goes to the next responder and is reported once")
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

    @Test("An error reported by the chosen option goes to the outer responders")
    func failingChoice() {
        let collector = Collector()
        let presenter = ScriptedPresenter("Again")
        withIssueReporters([collector]) {
            withErrorResponders(.present(on: presenter)) {
                reportIssue(Problem("One", recovery: .heal(HealingOption("Again") { reportIssue("Two") })))
            }
        }
        #expect(collector.messages == ["One", "Two"])
        #expect(presenter.prompts.count == 1)
    }

    @Test("If no user can be asked, the first normal option is chosen, never a destructive one")
    func nobody() {
        let chosen = Mutex("")
        func option(_ title: String, _ style: HealingOption.Style) -> HealingOption {
            HealingOption(title, style: style) { chosen.withLock { $0 = title } }
        }
        let prompt = Prompt(
            title: "t", message: "m", option("erase", .destructive),
            [option("again", .recommended), option("leave", .normal)])
        (.terminal as TerminalPresenter).choose(prompt).handler()
        #expect(chosen.withLock { $0 } == "leave")
    }

    @Test("A Problem derives its message and title from its arguments")
    func problem() {
        let problem = Problem("Nobody home.", source: .externalSystemBehavedUnexpectedly, cause: Own())
        #expect(problem.message == "Nobody home.")
        #expect(problem.userMessage == "Nobody home.")
        #expect(problem.title == ErrorSource.externalSystemBehavedUnexpectedly.title)
        let report = IssueReport(problem)
        #expect(report.causes.map(\.message) == ["card 17 refused", "Bare()"])
    }

    @Test("Titles and options are available in English, German and custom texts")
    func texts() {
        let former = PresenterTexts.current
        defer { PresenterTexts.current = former }
        PresenterTexts.current = .german
        #expect(
            ErrorSource.allCases.map(\.title) == [
                "Ungültige Nutzereingabe", "Interner Fehler", "Externes System nicht verfügbar",
                "Unerwartetes Verhalten",
            ])
        #expect(HealingOption.cancel.title == "Abbrechen")
        PresenterTexts.current = .english
        #expect(
            ErrorSource.allCases.map(\.title) == [
                "Invalid User Input", "Internal Inconsistency", "External System Unavailable", "Unexpected Behavior",
            ])
        var own = PresenterTexts()
        own.cancel = "Laat maar"
        PresenterTexts.current = own
        #expect(HealingOption.cancel.title == "Laat maar")
    }
}
