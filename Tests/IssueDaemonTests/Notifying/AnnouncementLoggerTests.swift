import IssueCore
import Synchronization
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The announcement logger")
struct AnnouncementLoggerTests {
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

    private func announcementLogger(timeout: Duration, _ lines: LineCollector) -> AnnouncementLogger {
        let log = Log(level: .notice, form: .plain) { lines.add($0) }
        return AnnouncementLogger(path: "/nonexistent/issues.db", reportDelay: timeout, log: log)
    }

    private func records(_ count: Int, _ reason: PriorityReason) -> [PriorityRecord] {
        (0..<Int64(count)).map { PriorityRecord(row: RowID($0), reason: reason, uid: 12_345) }
    }

    @Test("The number of suppressed announcements is logged after a while, even without further announcements")
    func suppressed() throws {
        let lines = LineCollector()
        let announcementLogger = announcementLogger(timeout: .milliseconds(20), lines)
        let thread = try Thread.start(name: "announcer") { announcementLogger.run() }
        announcementLogger.recordsStored(records(25, .firstOfGroup))
        announcementLogger.committed()
        #expect(
            lines.first() == """
                issued: notice: Too many issues to announce individually new=15 critical=0 regressed=0 \
                most_of_uid=12345 users="12345: 15" id=issue.suppressed-alerts

                """)
        announcementLogger.stop()
        thread.join()
        #expect(lines.all.count == 1)
    }

    @Test("The number of suppressed announcements is logged when the logger stops, without those of a failed commit")
    func end() throws {
        let lines = LineCollector()
        let announcementLogger = announcementLogger(timeout: .seconds(3600), lines)
        announcementLogger.recordsStored(records(100, .critical))
        announcementLogger.recordsStored(records(11, .critical))
        announcementLogger.committed()
        announcementLogger.stop()
        announcementLogger.run()
        #expect(
            lines.all == [
                """
                issued: warning: Too many issues to announce individually new=0 critical=1 regressed=0 \
                most_of_uid=12345 users="12345: 1" id=issue.suppressed-alerts

                """
            ])
    }
}
