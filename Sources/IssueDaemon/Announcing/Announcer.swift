import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Says in the log that an issue is new, critical or back, a line each and not too many.
///
/// What comes faster than the limit is counted, and the next line says how much
/// that was; all of it is in the store anyway.
final class Announcer: Sendable {
    private struct Inbox: Sendable {
        var rows: [Int64] = []
        /// Beyond what is kept to be told of.
        var untold: Int64 = 0
        var isCommitted = false
        var isStopping = false
    }

    private static let mostWaiting = 64
    private static let limit = BucketLimit(burst: 20, refill: Rate(20, per: .seconds(60)))
    private static let titleCharacters = 200

    private let inbox = Monitor(Inbox())
    private let path: String
    private let log: Log

    init(path: String, log: Log) {
        self.path = path
        self.log = log
    }

    /// Records came in that are critical, or the first of their issue or of its coming back; they are told of once they are on disk.
    func came(_ records: [Int64]) {
        inbox.withLock { inbox in
            let room = max(0, Self.mostWaiting - inbox.rows.count)
            inbox.rows += records.prefix(room)
            inbox.untold += Int64(max(0, records.count - room))
        }
    }

    /// What came before is on disk.
    func committed() {
        let hasNews = inbox.withLock { inbox in
            inbox.isCommitted = !inbox.rows.isEmpty
            return inbox.isCommitted
        }
        if hasNews { inbox.signal() }
    }

    func stop() {
        inbox.withLock { $0.isStopping = true }
        inbox.signal()
    }

    /// Tells until it is told to stop.
    func run() {
        var bucket = TokenBucket(Self.limit, at: Self.now)
        var untold: Int64 = 0
        var reader: StoreReader?
        while let news = next() {
            untold += news.untold
            for row in news.rows {
                guard bucket.has(at: Self.now) else {
                    untold += 1
                    continue
                }
                guard let open = try? reader ?? StoreReader(path: path) else { continue }
                reader = open
                guard let found = try? open.snapshot({ try open.record(row: row) }) else { continue }
                let events = events(of: found, open)
                guard !events.isEmpty else { continue }
                bucket.take(at: Self.now)
                for event in events { tell(found, event, untold) }
                untold = 0
            }
        }
    }

    private func next() -> Inbox? {
        inbox.wait { inbox -> Inbox?? in
            if inbox.isStopping { return .some(nil) }
            guard inbox.isCommitted else { return nil }
            let taken = inbox
            inbox = Inbox()
            return .some(taken)
        } ?? nil
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

    private func tell(_ row: RecordRow, _ event: LogEvent, _ untold: Int64) {
        let stored = row.stored
        let title = String(stored.record.message.prefix(Self.titleCharacters))
        let (level, words): (LogLevel, StaticString) =
            switch event {
            case .criticalIssue: (.warning, "A critical issue was reported")
            case .regressedIssue: (.warning, "An issue that was resolved has come back")
            case .newIssue, .destinationChanged: (.notice, "A new issue has come up")
            }
        log.event(
            event, level, words,
            [
                "group": stored.group, "record": stored.id, "app": row.accountName, "uid": "\(stored.sender.uid)",
                "version": stored.record.app?.version ?? "", "severity": (stored.record.severity ?? .error).name,
                "issue": title, "not_told_before": "\(untold)",
            ])
    }

    /// The limiter's clock, which here is the machine's own.
    private static var now: LogInstant {
        LogInstant(milliseconds: Clock.monotonic.sinceBoot.wholeMilliseconds)
    }
}
