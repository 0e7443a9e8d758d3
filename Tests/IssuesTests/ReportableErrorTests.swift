import Issues
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

@Suite("Errors that describe themselves")
struct ReportableErrorTests {
    @Test("Every requirement of a reportable error has a default")
    func defaults() {
        let error = Bare()
        #expect(Bare.domain.hasSuffix("Bare"))
        #expect(error.code == 0)
        #expect(error.message == "Bare()")
        #expect(error.userInfo.isEmpty && error.underlyingErrors.isEmpty && error.userMessage == nil)
        #expect(error.isReportable)
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
}
