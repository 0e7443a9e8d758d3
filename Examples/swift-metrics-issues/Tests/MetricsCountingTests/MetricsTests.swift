import CoreMetrics
import Issues
import MetricsCounting
import Testing

@Suite("A reporter for swift-metrics")
struct MetricsTests {
    @Test("Issues are counted by level")
    func counted() {
        withIssueReporters([CountingReporter()]) {
            reportIssue("a")
            reportIssue("b")
            reportIssue("c", level: .warning)
        }
        Counter.values.withLock {
            #expect($0 == ["issues_reported_total{level=error}": 2, "issues_reported_total{level=warning}": 1])
        }
    }
}
