import Issues
import Synchronization
import Testing

private struct Bare: ReportableError {}

private struct Own: ReportableError {
    static var domain: String { "shop.payment" }
    var code: Int { 402 }
    var message: String { "card 17 refused" }
    var userInfo: IssueMetadata { ["card": 17, "try": "own"] }
    var isReportable: Bool { false }
    var underlyingErrors: [any Error] { [Bare()] }
}

@Suite("Errors for developers and users", .serialized)
struct PresenterTests {
    @Test("Every requirement of a reportable error has a default")
    func defaults() {
        let error = Bare()
        #expect(Bare.domain.hasSuffix("Bare"))
        #expect(error.code == 0)
        #expect(error.message == "Bare()")
        #expect(error.userInfo.isEmpty && error.underlyingErrors.isEmpty && error.userMessage == nil)
        #expect(error.isReportable)
        #expect(error.source == .internalInconsistency)
        #expect(error.title == error.source.title)
        guard case .acknowledge = error.recovery else {
            Issue.record("It asks for \(error.recovery)")
            return
        }
    }

    @Test("A report contains all properties of a reportable error; metadata of scopes and calls takes precedence")
    func reported() {
        let collector = Collector()
        withIssueReporters([collector]) {
            withIssueMetadata(["try": "scope", "scope": 1]) {
                reportIssue(Own(), "Paying", metadata: ["scope": 2])
            }
        }
        let report = collector.reports.first
        #expect(report?.message == "Paying: card 17 refused")
        #expect(report?.domain == "shop.payment")
        #expect(report?.code == 402)
        #expect(report?.isReportable == false)
        #expect(report?.metadata == ["card": 17, "try": "scope", "scope": 2])
        #expect(report?.causes.map(\.message) == ["Bare()"])
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
