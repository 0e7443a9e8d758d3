import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Logs new issues, critical records and regressions, one line each, within a rate limit.
///
/// Announcements above the limit are counted, and the counts are logged after a delay.
final class AnnouncementLogger: Sendable {
    private struct AnnouncementQueue: Sendable {
        var limit: AnnouncementRateLimiter
        /// The announcements of the commit in progress. They are logged only if it succeeds.
        var uncommitted: [PriorityRecord] = []
        /// The row ids of committed records that are to be logged.
        var rows: [RowID] = []
        var isStopping = false

        /// Applies the rate limit to the announcements of the finished commit. Returns `true` if `run()` must be woken.
        mutating func committed(at now: RecordLogInstant) -> Bool {
            for record in uncommitted where limit.admits(record, at: now) { rows.append(record.row) }
            uncommitted = []
            return !rows.isEmpty || limit.suppressedDue != nil
        }

        /// Takes what is to be logged now; nil if there is nothing. After a stop, the batch may be empty.
        mutating func take(at now: RecordLogInstant) -> AnnouncementBatch? {
            if isStopping { return AnnouncementBatch(rows: rows, suppressed: limit.takeSuppressed(), isLast: true) }
            let isDue = limit.suppressedDue.map { $0 <= now } ?? false
            guard !rows.isEmpty || isDue else { return nil }
            let batch = AnnouncementBatch(
                rows: rows, suppressed: isDue ? limit.takeSuppressed() : SuppressedAnnouncements())
            rows = []
            return batch
        }
    }

    /// The announcements to log now, and the counts of suppressed ones.
    private struct AnnouncementBatch: Sendable {
        var rows: [RowID]
        var suppressed: SuppressedAnnouncements
        var isLast = false
    }

    /// The maximum length of a title, in characters.
    private static let titleCharacters = 200

    private let queue: Monitor<AnnouncementQueue>
    private let path: String
    private let snapshots: SnapshotGate
    private let log: Log

    /// Creates a logger.
    ///
    /// - Parameters:
    ///   - path: The path of the database.
    ///   - reportDelay: How long suppressed announcements are counted before their number is logged.
    init(
        path: String, snapshots: SnapshotGate = SnapshotGate(),
        reportDelay: Duration = AnnouncementRateLimiter.suppressionReportDelay,
        log: Log
    ) {
        (self.path, self.snapshots, self.log) = (path, snapshots, log)
        queue = Monitor(
            AnnouncementQueue(limit: AnnouncementRateLimiter(reportDelay: reportDelay, at: Clock.sinceBoot)))
    }

    /// Remembers the announcements of the commit in progress until `committed()` is called. Called on the writer
    /// thread.
    func recordsStored(_ records: [PriorityRecord]) {
        queue.withLock { $0.uncommitted = records }
    }

    /// Lets `run()` log the announcements of the finished commit, within the rate limit. Called on the writer thread.
    func committed() {
        if queue.withLock({ $0.committed(at: Clock.sinceBoot) }) { queue.signal() }
    }

    /// Returns the status of the limits on announcements.
    func limits() -> [LimitStatus] {
        // The writer thread needs the lock, too. Therefore, the lock is held only to copy the limit.
        queue.withLock { $0.limit }.statuses(at: Clock.sinceBoot)
    }

    func stop() {
        queue.withLock { $0.isStopping = true }
        queue.signal()
    }

    /// Logs announcements until `stop()` is called, then the remaining ones, and returns.
    func run() {
        var reader: StoreReader?
        while true {
            let batch = next()
            for row in batch.rows {
                guard let open = try? reader ?? StoreReader(path: path, control: snapshots.control(.background)) else {
                    continue
                }
                reader = open
                guard let found = try? open.snapshot({ try open.record(row: row) }) else { continue }
                for event in events(of: found, open) { write(found, event) }
            }
            write(batch.suppressed)
            if batch.isLast { return }
        }
    }

    private func next() -> AnnouncementBatch {
        while true {
            let due = queue.withLock { $0.limit.suppressedDue }
            let wait = due.map { Clock.monotonic.advanced(by: Clock.sinceBoot.duration(to: $0)) }
            // The wait ends early if the due time changes: the first announcement that is suppressed sets it.
            let batch = queue.wait(deadline: wait.map { Clock.kernel($0) }) { queue -> AnnouncementBatch?? in
                if let batch = queue.take(at: Clock.sinceBoot) { return .some(batch) }
                return queue.limit.suppressedDue == due ? nil : .some(nil)
            }
            if let batch = batch ?? nil { return batch }
        }
    }

    /// Returns the events to log for a record.
    private func events(of row: RecordRow, _ reader: StoreReader) -> [LogEvent] {
        var events: [LogEvent] = []
        if (try? reader.isRegression(row: row.row)) == true { events.append(.issueRegressed) }
        if row.stored.record.severity == .critical {
            events.append(.issueCritical)
        } else if row.isFirstOfGroup {
            events.append(.issueNew)
        }
        return events
    }

    private func write(_ row: RecordRow, _ event: LogEvent) {
        let stored = row.stored
        log.log(
            event == .issueNew ? .notice : .warning, event,
            [
                "group": stored.group, "record": stored.id, "app": row.accountName, "uid": "\(stored.sender.uid)",
                "version": stored.record.app?.version ?? "", "severity": (stored.record.severity ?? .error).name,
                "issue": String(stored.record.message.prefix(Self.titleCharacters)),
            ])
    }

    private func write(_ suppressed: SuppressedAnnouncements) {
        guard !suppressed.isEmpty else { return }
        // The counts by user id, and the number of other users, such as `1001: 140, 1002: 9, 1003: 5, 1004: 4, 1005: 3,
        // 2 more`.
        let users =
            suppressed.users.map { "\($0.uid): \($0.count)" }
            + (suppressed.otherUsers > 0 ? ["\(suppressed.otherUsers) more"] : [])
        log.log(
            suppressed.isUrgent ? .warning : .notice, .issueSuppressedAlerts,
            [
                "new": "\(suppressed.new)", "critical": "\(suppressed.critical)",
                "regressed": "\(suppressed.regressed)",
                "most_of_uid": suppressed.users.first.map { "\($0.uid)" } ?? "", "users": users.joined(separator: ", "),
            ])
    }
}
