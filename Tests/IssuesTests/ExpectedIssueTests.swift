import Issues
import Testing

private struct Refused: Error {}

@Suite("Expected issues")
struct ExpectedIssueTests {
    @Test("An expected issue that matches is not sent to other reporters")
    func matching() async {
        let outer = Collector()
        await withIssueReporters([outer]) {
            expectReportsIssue {
                reportIssue("oops", severity: .warning)
            } matching: {
                $0.description == "Issue reported: oops" && $0.severity == .warning && $0.line == #line - 2
            }
            await expectReportsIssue {
                await Task.yield()
                reportIssue(Refused(), "Paying")
            } matching: {
                $0.error is Refused && $0.description == "Issue reported: Caught error: Refused(): Paying"
            }
        }
        #expect(outer.messages.isEmpty)
    }

    @Test("A missing issue is reported, and so is each issue that does not match")
    func failing() async {
        let outer = Collector()
        await withIssueReporters([outer]) {
            expectReportsIssue {
            } matching: { _ in
                true
            }
            expectReportsIssue("the till") {
            } matching: { _ in
                true
            }
            expectReportsIssue {
                reportIssue("oops")
                reportIssue()
            } matching: { _ in
                false
            }
            await expectReportsIssue {
                await Task.yield()
                reportIssue("oops")
            } matching: { _ in
                false
            }
        }
        #expect(
            outer.messages == [
                "Expected issue to be reported", "Expected issue to be reported: the till",
                "Issue does not match: Issue reported: oops", "Issue does not match: Issue reported",
                "Issue does not match: Issue reported: oops",
            ])
    }

    @Test("Without a matcher, any issue is expected, and only a missing one is reported")
    func unmatched() async {
        let outer = Collector()
        await withIssueReporters([outer]) {
            expectReportsIssue { reportIssue("oops") }
            await expectReportsIssue {
                await Task.yield()
                reportIssue(Refused())
            }
            expectReportsIssue("the till") {}
        }
        #expect(outer.messages == ["Expected issue to be reported: the till"])
    }

    @Test("An error that the operation throws is rethrown")
    func throwing() {
        #expect(throws: Refused.self) {
            try expectReportsIssue {
                throw Refused()
            } matching: { _ in
                true
            }
        }
    }
}
