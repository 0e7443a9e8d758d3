import IssueCore
import IssueTestSupport
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The announcement logger")
struct AnnouncementLoggerTests {
    private func announcementLogger(timeout: Duration) -> (AnnouncementLogger, lines: () -> [String]) {
        let (log, lines) = keptLog()
        return (AnnouncementLogger(path: "/nonexistent/issues.db", reportDelay: timeout, log: log), lines)
    }

    private func records(_ count: Int, _ reason: PriorityReason) -> [PriorityRecord] {
        (0..<Int64(count)).map { PriorityRecord(row: RowID($0), reason: reason, uid: 12_345) }
    }

    @Test("The number of suppressed announcements is logged after a while, even without further announcements")
    func suppressed() throws {
        let (announcementLogger, lines) = announcementLogger(timeout: .milliseconds(20))
        let thread = try Thread.start(name: "announcer") { announcementLogger.run() }
        announcementLogger.recordsStored(records(25, .firstOfGroup))
        announcementLogger.committed()
        try waitUntil("the number is logged") { !lines().isEmpty }
        #expect(
            lines().first == """
                issued: notice: Too many issues to announce individually new=15 critical=0 regressed=0 \
                most_of_uid=12345 users="12345: 15" id=issue.suppressed-alerts

                """)
        announcementLogger.stop()
        thread.join()
        #expect(lines().count == 1)
    }

    @Test("The number of suppressed announcements is logged when the logger stops, without those of a failed commit")
    func end() throws {
        let (announcementLogger, lines) = announcementLogger(timeout: .seconds(3600))
        // The commit of these records fails: the writer does not call `committed()`.
        announcementLogger.recordsStored(records(100, .critical))
        announcementLogger.recordsStored(records(11, .critical))
        announcementLogger.committed()
        announcementLogger.stop()
        announcementLogger.run()
        #expect(
            lines() == [
                """
                issued: warning: Too many issues to announce individually new=0 critical=1 regressed=0 \
                most_of_uid=12345 users="12345: 1" id=issue.suppressed-alerts

                """
            ])
    }
}
