import Foundation
import Issues
import IssuesFoundation
import IssuesPresenting
import Synchronization
import Testing

private struct OutOfStock: ReportableError, LocalizedError {
    var userMessage: String? { "This article is sold out." }
}

private struct Silent: ReportableError, LocalizedError {
    var message: String { "for developers" }
}

private struct Localized: LocalizedError {
    var errorDescription: String? { "Die Kasse klemmt." }
    var failureReason: String? { "Münze" }
    var recoverySuggestion: String? { "Rütteln" }
}

private final class CollectingSink: IssueSink {
    let reports = Mutex<[IssueReport]>([])

    var first: IssueReport? { reports.withLock { $0.first } }

    func receive(_ report: IssueReport) {
        reports.withLock { $0.append(report) }
    }
}

private final class RecordingPresenter: IssuePresenter {
    let prompts = Mutex<[IssuePrompt]>([])

    func choose(_ prompt: IssuePrompt) -> IssueRecovery.Option {
        prompts.withLock { $0.append(prompt) }
        return prompt.ordinaryOption
    }
}

@Suite("Errors in an application with Foundation")
struct LocalizedErrorTests {
    @Test("localizedDescription returns the user message of a reportable error or, if there is none, its message")
    func ownText() {
        #expect(OutOfStock().localizedDescription == "This article is sold out.")
        #expect((OutOfStock() as any Error).localizedDescription == "This article is sold out.")
        #expect(Silent().localizedDescription == "for developers")
        let problem: any Error = IssueProblem("Could not reach the server.", message: "ECONNREFUSED")
        #expect(problem.localizedDescription == "Could not reach the server.")
    }

    @Test("The user message of a reportable error is added as metadata, unless it equals the message")
    func reportable() throws {
        let sink = CollectingSink()
        withIssueReporters([sink]) {
            reportIssue(OutOfStock())
            reportIssue(Silent())
        }

        let reports = sink.reports.withLock { $0 }
        try #require(reports.count == 2)
        #expect(reports[0].metadata["localized_description"] == "This article is sold out.")
        #expect(reports[1].metadata["localized_description"] == nil)
    }

    @Test("The texts of a localised error are added as metadata, and its message is the same in all languages")
    func facts() throws {
        let sink = CollectingSink()
        withIssueReporters([sink]) { reportIssue(Localized()) }

        let report = try #require(sink.first)
        #expect(report.message == "Localized()")
        #expect(report.metadata["localized_description"] == "Die Kasse klemmt.")
        #expect(report.metadata["failure_reason"] == "Münze")
        #expect(report.metadata["recovery_suggestion"] == "Rütteln")
    }

    @Test("A localised error is shown to users")
    func shown() {
        let presenter = RecordingPresenter()
        withIssueReporters([]) {
            withErrorResponders(.present(on: presenter)) {
                reportIssue(Localized())
                // Not shown, because its text is for developers.
                reportIssue(Silent())
            }
        }
        #expect(presenter.prompts.withLock { $0.map(\.message) } == ["Die Kasse klemmt."])
        #expect(presenter.prompts.withLock { $0.map(\.title) } == [IssuePresenterTexts.current.unknownError])
    }

    @Test("A value in a message can be formatted by Foundation, and is a placeholder in the template")
    func formats() throws {
        let sink = CollectingSink()
        let price = 1234.5
        let locale = Locale(identifier: "en_US")
        withIssueReporters([sink]) {
            reportIssue("Refused \(price, format: .currency(code: "EUR").locale(locale))")
        }
        let report = try #require(sink.first)
        #expect(report.message == "Refused €1,234.50")
        #expect(report.template == "Refused {}")
    }
}
