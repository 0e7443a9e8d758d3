import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import Testing

@testable import IssueDaemon

@Suite("Events about limits of destinations")
struct LimitMonitorTests {
    private final class Events: Sendable {
        private let all = Mutex<[String]>([])

        func add(_ text: String) { all.withLock { $0.append(text) } }

        func take() -> [String] {
            all.withLock { events in
                defer { events = [] }
                return events
            }
        }
    }

    private func limit(_ account: Int64, _ reason: SuppressionReason = .applicationRate) throws -> ReachedLimit {
        try #require(ReachedLimit(reason, account: AccountID(rawValue: account), user: 1000))
    }

    @Test("If the name of an application can't be read, its limit is reported once, without the name")
    func unnamed() throws {
        try ScanFixture.with(LimitSettings(), seed: 1) { fixture in
            let events = Events()
            let monitor = LimitMonitor { user, text in events.add("\(user): \(text)") }
            monitor.heldBack([try limit(99)], by: "d", fixture.reader)
            #expect(
                events.take() == [
                    "1000: an application of user 1000 exceeds ApplicationBurst= of d, which gets only summaries of "
                        + "further records"
                ])
            #expect(monitor.nextEnd(of: "d") != nil)
            monitor.heldBack([try limit(99)], by: "d", fixture.reader)
            #expect(events.take().isEmpty)
        }
    }
}
