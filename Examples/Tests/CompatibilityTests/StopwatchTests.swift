import Issues
import Stopwatch
import StopwatchTestSupport
import Synchronization
import Testing

private final class CollectingSink: IssueSink {
    let reports = Mutex<[IssueReport]>([])

    func receive(_ report: IssueReport) {
        reports.withLock { $0.append(report) }
    }
}

@Suite("A package that depends on xctest-dynamic-overlay")
struct StopwatchTests {
    private func reports(_ body: () -> Void) -> [IssueReport] {
        let sink = CollectingSink()
        withIssueReporters([sink], operation: body)
        return sink.reports.withLock { $0 }
    }

    @Test("It builds unchanged, and its issues reach the reporters of Issues")
    func reported() {
        let found = reports {
            Stopwatch { -1 }.stop()
            Stopwatch.stopped.reset()
            Stopwatch.stopped.stop()
            Stopwatch().stop()
        }
        #expect(found.count == 3)
        #expect(found.first?.message == "The stopwatch runs backwards")
        #expect(found.first?.site.fileID.description == "CompatibilityTests/StopwatchTests.swift")
        #expect(found.dropFirst().first?.message == "The stopwatch can't be reset")
        #expect(found.last?.message.hasPrefix("Unimplemented: Stopwatch.read") == true)
    }

    @Test("Its issues fail a test that doesn't expect them")
    func failing() {
        withExpectedIssue { Stopwatch { -1 }.stop() }
    }
}
