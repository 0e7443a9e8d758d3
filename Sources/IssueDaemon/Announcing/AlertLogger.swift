import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Says in the log that an issue is new, critical or back, a line each and not too many; of what is left out it says
/// after a while how much that was.
///
/// All of it is in the store anyway.
final class AlertLogger: Sendable {
    private struct Inbox: Sendable {
        var limit: AlertRateLimiter
        /// What the commit that is under way brings.
        var coming: [News] = []
        /// What is on disk and is to be told.
        var rows: [Int64] = []
        var isStopping = false

        mutating func committed(at now: RecordLogInstant) -> Bool {
            for news in coming where limit.tells(news, at: now) { rows.append(news.record) }
            coming = []
            return !rows.isEmpty || limit.suppressedDue != nil
        }

        /// What is to be done now, if anything is.
        mutating func take(at now: RecordLogInstant) -> Telling? {
            if isStopping { return Telling(rows: rows, untold: limit.takeSuppressed(), isLast: true) }
            let isDue = limit.suppressedDue.map { $0 <= now } ?? false
            guard !rows.isEmpty || isDue else { return nil }
            let telling = Telling(rows: rows, untold: isDue ? limit.takeSuppressed() : SuppressedAlerts())
            rows = []
            return telling
        }
    }

    private struct Telling: Sendable {
        var rows: [Int64]
        var untold: SuppressedAlerts
        var isLast = false
    }

    private static let titleCharacters = 200

    private let inbox: Monitor<Inbox>
    private let path: String
    private let snapshots: SnapshotGate
    private let log: Log

    /// - Parameter patience: How long it is counted what is left out.
    init(
        path: String, snapshots: SnapshotGate = SnapshotGate(), timeout: Duration = AlertRateLimiter.suppressedFor,
        log: Log
    ) {
        self.path = path
        self.snapshots = snapshots
        self.log = log
        inbox = Monitor(Inbox(limit: AlertRateLimiter(timeout: timeout, at: Self.now)))
    }

    /// A commit is under way that brings these; they are told of once they are on disk.
    func came(_ news: [News]) {
        inbox.withLock { $0.coming = news }
    }

    /// What came before is on disk.
    func committed() {
        if inbox.withLock({ $0.committed(at: Self.now) }) { inbox.signal() }
    }

    func stop() {
        inbox.withLock { $0.isStopping = true }
        inbox.signal()
    }

    /// Tells until it is told to stop, and then what is left.
    func run() {
        var reader: StoreReader?
        while true {
            let telling = next()
            for row in telling.rows {
                guard let open = try? reader ?? StoreReader(path: path, control: snapshots.control(.background)) else {
                    continue
                }
                reader = open
                guard let found = try? open.snapshot({ try open.record(row: row) }) else { continue }
                for event in events(of: found, open) { tell(found, event) }
            }
            tell(telling.untold)
            if telling.isLast { return }
        }
    }

    private func next() -> Telling {
        while true {
            let due = inbox.withLock { $0.limit.suppressedDue }
            let wait = due.map { Clock.monotonic.advanced(by: Self.now.duration(to: $0)) }
            // Something may be left out meanwhile, and have to be told of earlier than what is waited for.
            let telling = inbox.wait(deadline: wait.map { Clock.kernel($0) }) { inbox -> Telling?? in
                if let telling = inbox.take(at: Self.now) { return .some(telling) }
                return inbox.limit.suppressedDue == due ? nil : .some(nil)
            }
            if let telling = telling ?? nil { return telling }
        }
    }

    /// What a record is told as; nothing where a commit that failed has left its id to another.
    private func events(of row: RecordRow, _ reader: StoreReader) -> [LogEvent] {
        var events: [LogEvent] = []
        if (try? reader.isRegression(row: row.row)) == true { events.append(.regressedIssue) }
        if row.stored.record.severity == .critical {
            events.append(.criticalIssue)
        } else if row.isFirstOfGroup {
            events.append(.newIssue)
        }
        return events
    }

    private func tell(_ row: RecordRow, _ event: LogEvent) {
        let stored = row.stored
        let title = String(stored.record.message.prefix(Self.titleCharacters))
        let (level, words): (LogLevel, StaticString) =
            switch event {
            case .criticalIssue: (.warning, "Critical issue reported")
            case .regressedIssue: (.warning, "Issue regressed")
            case .newIssue, .issuesUntold, .destinationChanged: (.notice, "New issue reported")
            }
        log.event(
            event, level, words,
            [
                "group": stored.group, "record": stored.id, "app": row.accountName, "uid": "\(stored.sender.uid)",
                "version": stored.record.app?.version ?? "", "severity": (stored.record.severity ?? .error).name,
                "issue": title,
            ])
    }

    private func tell(_ untold: SuppressedAlerts) {
        guard !untold.isNothing else { return }
        log.event(
            .issuesUntold, untold.isUrgent ? .warning : .notice, "Too many issues to announce individually",
            [
                "new": "\(untold.new)", "critical": "\(untold.critical)", "regressed": "\(untold.regressed)",
                "most_of_uid": untold.users.first.map { "\($0.uid)" } ?? "", "users": Self.text(of: untold),
            ])
    }

    /// Names the users and how much was left out of each, such as `1001: 140, 1002: 3, 2 more`.
    private static func text(of untold: SuppressedAlerts) -> String {
        let users = untold.users.map { "\($0.uid): \($0.count)" }
        return (users + (untold.otherUsers > 0 ? ["\(untold.otherUsers) more"] : [])).joined(separator: ", ")
    }

    /// The limiter's clock, which here is the machine's own.
    private static var now: RecordLogInstant {
        RecordLogInstant(milliseconds: Clock.monotonic.sinceBoot.wholeMilliseconds)
    }
}
