import IssueCore
import IssueProtocol
import IssueStore
import Synchronization

/// Reports to notifiers when a limit of a destination begins or stops holding records back.
///
/// It outlives the forwarding services, so a reload does not report the same limit again.
final class LimitMonitor: Sendable {
    private let watch = Mutex(LimitWatch())
    /// Called with the accountable user and the text of an event.
    private let report: @Sendable (UInt32, String) -> Void

    init(report: @escaping @Sendable (UInt32, String) -> Void) {
        self.report = report
    }

    /// Notes the limits that have held back records of a destination, and reports each beginning and end. If the name
    /// of an application can't be read, the event lacks it.
    func heldBack(_ limits: Set<ReachedLimit>, by destination: String, _ reader: StoreReader) {
        let now = Clock.monotonic
        let (ended, begun) = watch.withLock { watch in
            let begun = watch.heldBack(limits, by: destination, at: now)
            return (watch.ended(of: destination, at: now), begun)
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

    /// Returns when the next limit of a destination may be over; nil if none is reached.
    func nextEnd(of destination: String) -> MonotonicInstant? {
        watch.withLock { $0.nextEnd(of: destination) }
    }

    /// Forgets the limits of all other destinations.
    func keep(_ destinations: Set<String>) {
        watch.withLock { $0.keep(destinations) }
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
