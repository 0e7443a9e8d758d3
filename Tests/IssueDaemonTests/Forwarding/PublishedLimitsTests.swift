import IssueProtocol
import IssueStore
import Testing

@testable import IssueCore
@testable import IssueDaemon

@Suite("Publication of the limits of a destination")
struct PublishedLimitsTests {
    @Test("After a failed read, the next attempt is due after the interval, not at once")
    func failure() throws {
        try ScanFixture.with(LimitSettings(), seed: 1) { fixture in
            let loop = try fixture.forwarder()
            #expect(try #require(loop.limitsDue) <= Clock.monotonic)
            try fixture.execute("ALTER TABLE clock RENAME TO hidden")
            let start = Clock.monotonic
            loop.publishLimits()
            #expect(loop.service.statusRegistry.limitHistory(of: "d") == nil)
            #expect(try #require(loop.limitsDue) >= start.advanced(by: .seconds(1)))
        }
    }

    @Test("A group that no longer exists is removed from the history, and causes no further publication")
    func gone() throws {
        try ScanFixture.with(LimitSettings(), seed: 1) { fixture in
            try fixture.commit((0..<30).map { _ in IssueRecord(message: "Order failed") })
            let loop = try fixture.forwarder()
            _ = try loop.scan(BatchLimit(records: 40, bytes: 1 << 20))
            let held = loop.admission.history.groups.entries.count
            #expect(held == 1)
            // Publishes without the known names, as after a restart.
            try fixture.execute("PRAGMA foreign_keys=OFF; UPDATE groups SET id = id + 1000")
            loop.publishLimits(isLast: true)
            #expect(loop.limitsDue == nil)
            #expect(loop.admission.history.groups.entries.isEmpty)
            let view = LimitView(loop.admission, offset: 0, at: RecordLogInstant(milliseconds: 0))
            #expect(view.groupIDs.isEmpty)
        }
    }
}
