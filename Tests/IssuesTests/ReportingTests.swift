import Issues
import Synchronization
import Testing

private enum ShopError: Error {
    case outOfStock(article: Int)
}

@Suite("Reporting")
struct ReportingTests {
    @Test("Without reporters, neither message nor metadata is evaluated")
    func silence() {
        var evaluations = 0
        func text() -> String {
            evaluations += 1
            return "never"
        }

        withIssueReporters([]) {
            reportIssue(text())
            reportIssue(text(), level: .critical, metadata: ["text": .init(text())])
            reportIssue(ShopError.outOfStock(article: 1), text())
        }

        #expect(evaluations == 0)
    }

    @Test("With several reporters, the message is evaluated once")
    func once() {
        var evaluations = 0
        func text() -> String {
            evaluations += 1
            return "text"
        }
        let first = Collector()
        let second = OldReporter()

        withIssueReporters([first, second, first]) { reportIssue(text()) }

        #expect(evaluations == 1)
        #expect(first.messages == ["text", "text"])
        #expect(second.issues.map(\.message) == ["text"])
    }

    @Test("An issue without a message has a default message")
    func defaultMessage() {
        let collector = Collector()

        withIssueReporters([collector]) {
            reportIssue()
            reportIssue("")
            reportIssue(metadata: ["a": 1])
        }

        #expect(collector.messages == ["Issue reported", "Issue reported", "Issue reported"])
    }

    @Test("A report contains the location of its call")
    func site() {
        let collector = Collector()

        withIssueReporters([collector]) { reportIssue("here") }
        let line = #line - 1

        let report = collector.reports.first
        #expect(report?.site.description == "IssuesTests/ReportingTests.swift:\(line)")
        #expect(report?.site.column == 54)
    }

    @Test("The report of an error contains the error's description and qualified type name")
    func error() {
        let collector = Collector()

        withIssueReporters([collector]) {
            reportIssue(ShopError.outOfStock(article: 7))
            reportIssue(ShopError.outOfStock(article: 7), "Placing the order")
        }

        #expect(
            collector.messages == [
                "ShopError.outOfStock(article: 7)", "Placing the order: ShopError.outOfStock(article: 7)",
            ])
        #expect(collector.reports.allSatisfy { $0.domain?.hasPrefix("IssuesTests.") == true })
        #expect(collector.reports.allSatisfy { $0.domain?.hasSuffix("ShopError") == true })
        #expect(collector.reports.allSatisfy { $0.code == nil && $0.isReportable && $0.error is ShopError })
    }

    @Test("A cancellation is reported, but marked as not to be forwarded")
    func cancellation() {
        let collector = Collector()

        withIssueReporters([collector]) { reportIssue(CancellationError()) }

        #expect(collector.reports.map(\.isReportable) == [false])
    }

    @Test(
        "A reporter written for swift-issue-reporting 2.0 receives the nearest severity", arguments: IssueLevel.allCases
    )
    func severity(level: IssueLevel) {
        let reporter = OldReporter()

        withIssueReporters([reporter]) { reportIssue("m", level: level) }

        #expect(reporter.issues.map(\.severity) == [level >= .error ? .error : .warning])
    }

    @Test("A reporter written for swift-issue-reporting 2.0 receives a caught error as a message")
    func oldError() {
        let reporter = OldReporter()

        withIssueReporters([reporter]) {
            reportIssue(ShopError.outOfStock(article: 7), "Placing")
            reportIssue(ShopError.outOfStock(article: 7))
        }

        #expect(
            reporter.issues.map(\.message) == [
                "Caught error: outOfStock(article: 7): Placing", "Caught error: outOfStock(article: 7)",
            ])
    }

    @Test("A reporter is not called for an issue that it reports itself")
    func recursion() {
        final class RecursiveSink: IssueSink {
            let count = Atomic(0)

            func receive(_ report: IssueReport) {
                count.add(1, ordering: .relaxed)
                Issues.reportIssue("While receiving: \(report.message) (this line is expected)")
            }
        }
        let echo = RecursiveSink()

        withIssueReporters([echo]) { reportIssue("first") }

        #expect(echo.count.load(ordering: .relaxed) == 1)
    }

    @Test("A reporter is not called for an issue that it reports with captured responders")
    func recursionThroughResponders() {
        final class RecursiveSink: IssueSink {
            let count = Atomic(0)
            let captured = Mutex<ErrorResponders?>(nil)

            func receive(_ report: IssueReport) {
                guard count.add(1, ordering: .relaxed).newValue < 100 else { return }
                ErrorResponders.current.report("While receiving (this line is expected)")
                captured.withLock { $0 }?.report(CancellationError(), "While receiving (this line is expected)")
            }
        }
        let echo = RecursiveSink()

        withIssueReporters([echo]) {
            echo.captured.withLock { $0 = .current }
            reportIssue("first")
        }

        #expect(echo.count.load(ordering: .relaxed) == 1)
    }
}
