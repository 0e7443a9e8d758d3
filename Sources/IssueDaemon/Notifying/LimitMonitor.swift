import IssueCore
import IssueProtocol
import IssueStore
import Synchronization

/// Reports to notifiers when a limit of a destination begins or ceases to hold records back.
///
/// It outlives the forwarding services, so a reload does not report the same limit again.
final class LimitMonitor: Sendable {
    private let watches = Mutex<[String: LimitWatch]>([:])
    /// Called with the accountable user and the text of an event.
    private let report: @Sendable (UInt32, String) -> Void

    init(report: @escaping @Sendable (UInt32, String) -> Void) {
        self.report = report
    }

    /// Notes the limits that have held records of a destination back, and reports those that began and those that are
    /// over. If the name of an application can't be read, the event lacks it.
    func heldBack(_ limits: Set<ReachedLimit>, by destination: String, _ reader: StoreReader) {
        let now = Clock.monotonic
        let (ended, begun) = watches.withLock { watches in
            guard !limits.isEmpty || watches[destination] != nil else { return ([ReachedLimit](), [ReachedLimit]()) }
            var watch = watches[destination] ?? LimitWatch()
            defer { watches[destination] = watch }
            let begun = watch.heldBack(limits, at: now)
            return (watch.ended(at: now), begun)
        }
        for limit in ended {
            let subject = Self.subject(limit, reader)
            report(limit.user, "\(subject) no longer exceeds \(Self.name(limit)) of \(destination)")
        }
        for limit in begun {
            let subject = Self.subject(limit, reader)
            report(
                limit.user,
                "\(subject) exceeds \(Self.name(limit)) of \(destination), which gets only summaries of further records"
            )
        }
    }

    /// When the next limit of a destination may cease; nil if none is reached.
    func nextEnd(of destination: String) -> MonotonicInstant? {
        watches.withLock { $0[destination]?.nextEnd }
    }

    private static func subject(_ limit: ReachedLimit, _ reader: StoreReader) -> String {
        guard let account = limit.account else { return "user \(limit.user)" }
        guard let found = try? reader.account(account) else { return "an application of user \(limit.user)" }
        let app = NotificationText.line(found.app, maxCharacters: NotificationText.maxName)
        return "application \(app) of user \(found.uid)"
    }

    private static func name(_ limit: ReachedLimit) -> String {
        switch limit.reason {
        case .applicationRate: "ApplicationBurst="
        case .globalRate: "GlobalBurst="
        case .dailyBytes: "DailyBytes="
        case .groupRate, .cardinality: limit.reason.rawValue
        }
    }
}
