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

@Suite("Errors for developers and for people", .serialized)
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

    @Test("A report has all that a reportable error says; scopes and the call win over its own facts")
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

    @Test("The reporters are told, then a person is asked, then the choice is run")
    func order() {
        let collector = Collector()
        let presenter = ScriptedPresenter("Work offline")
        let chosen = Mutex<[String]>([])
        withIssueReporters([collector]) {
            withErrorResponders(.handle { Issue.record("It climbed past the presenter") }) {
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

    @Test("What has nothing to tell people climbs on, and is told once")
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

    @Test("A choice that fails in its turn is reported from outside")
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

    @Test("Without anybody to ask, the first ordinary option is taken, and never one that destroys")
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

    @Test("A problem is ready made: message and title come from what was said")
    func problem() {
        let problem = Problem("Nobody home.", source: .externalSystemBehavedUnexpectedly, cause: Own())
        #expect(problem.message == "Nobody home.")
        #expect(problem.userMessage == "Nobody home.")
        #expect(problem.title == ErrorSource.externalSystemBehavedUnexpectedly.title)
        let report = IssueReport(problem)
        #expect(report.causes.map(\.message) == ["card 17 refused", "Bare()"])
    }

    @Test("Titles and options come in English and German, and from a table of one's own")
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
