import IssueCore
import Synchronization
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The alert logger")
struct AlertLoggerTests {
    private final class LineCollector: Sendable {
        private let lines = Monitor<[String]>([])

        func add(_ line: String) {
            lines.withLock { $0.append(line) }
            lines.broadcast()
        }

        func first() -> String? {
            let deadline = MonotonicClock.now.advanced(by: .seconds(30))
            return lines.wait(deadline: deadline) { $0.first }
        }

        var all: [String] { lines.withLock { $0 } }
    }

    private func alertLogger(timeout: Duration, _ lines: LineCollector) -> AlertLogger {
        let log = Log(level: .notice, form: .plain) { lines.add($0) }
        return AlertLogger(path: "/nonexistent/issues.db", reportDelay: timeout, log: log)
    }

    private func records(_ count: Int, _ reason: PriorityReason) -> [PriorityRecord] {
        (0..<Int64(count)).map { PriorityRecord(row: RowID($0), reason: reason, uid: 12_345) }
    }

    @Test("The number of suppressed alerts is logged after a while, even without further alerts")
    func suppressed() throws {
        let lines = LineCollector()
        let alertLogger = alertLogger(timeout: .milliseconds(20), lines)
        let thread = try Thread.start(name: "announcer") { alertLogger.run() }
        alertLogger.recordsStored(records(25, .firstOfGroup))
        alertLogger.committed()
        #expect(
            lines.first() == """
                issued: notice: Too many issues to announce individually new=15 critical=0 regressed=0 \
                most_of_uid=12345 users="12345: 15" id=issue.suppressed-alerts

                """)
        alertLogger.stop()
        thread.join()
        #expect(lines.all.count == 1)
    }

    @Test("The number of suppressed alerts is logged at the end, without those of a failed commit")
    func end() throws {
        let lines = LineCollector()
        let alertLogger = alertLogger(timeout: .seconds(3600), lines)
        alertLogger.recordsStored(records(100, .critical))
        alertLogger.recordsStored(records(11, .critical))
        alertLogger.committed()
        alertLogger.stop()
        alertLogger.run()
        #expect(
            lines.all == [
                """
                issued: warning: Too many issues to announce individually new=0 critical=1 regressed=0 \
                most_of_uid=12345 users="12345: 1" id=issue.suppressed-alerts

                """
            ])
    }
}
