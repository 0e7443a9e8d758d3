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

    @Test(
        "A group or application that no longer exists is removed from the history, and causes no further publication",
        arguments: ["groups", "accounts"])
    func gone(table: String) throws {
        var limits = LimitSettings()
        limits.applicationBurst = 12
        try ScanFixture.with(limits, seed: 1) { fixture in
            // The history of an earlier day would have expired.
            fixture.useCurrentTime()
            // The limit of the first group is reached, then that of the application.
            for message in ["Order failed", "Payment failed", "Login failed"] {
                try fixture.commit((0..<30).map { _ in IssueRecord(message: message) })
            }
            let loop = try fixture.forwarder()
            _ = try loop.scan(BatchLimit(records: 100, bytes: 1 << 20))
            let (groups, applications) = (loop.admission.history.groups, loop.admission.history.applications)
            #expect(!groups.entries.isEmpty && applications.entries.count == 1)
            // The loop has published nothing yet, so it has no names in memory, as after a restart.
            try fixture.execute("PRAGMA foreign_keys=OFF; UPDATE \(table) SET id = id + 1000")
            loop.publishLimits(isLast: true)
            #expect(loop.limitsDue == nil)
            #expect(loop.admission.history.groups.entries.isEmpty)
            #expect(loop.admission.history.applications.entries.isEmpty == (table == "accounts"))
            let view = LimitView(loop.admission, offset: 0, at: RecordLogInstant(milliseconds: 0))
            #expect(view.groupIDs.isEmpty)
        }
    }

    @Test("The forecast of a record has the same daily bytes as the limits, and names the reserves of others")
    func forecast() throws {
        try ScanFixture.with(LimitSettings(), seed: 1) { fixture in
            fixture.useCurrentTime()
            try fixture.commit([IssueRecord(message: "Order failed")])
            var state = fixture.destination.state
            (state.day, state.dayBytes) = (Clock.wall.millisecondsSince1970 / 86_400_000, 5000)
            (state.dayUsers, state.dayCharged) = ([1000: 700], 700)
            try fixture.writer.save(state, destination: fixture.destination.id)
            var forward = ForwardSettings()
            forward.dailyBytes = 10_000
            var settings = ForecastSettings()
            let destination = DestinationSettings(DestinationKind.all[0], limits: LimitSettings(), forward: forward)
            settings.destinations = [("d", destination)]
            let forecasting = RecordForecasting(
                settings: settings, reader: fixture.reader, viewer: .everything,
                requester: Sender(uid: 1000, gid: 1000, pid: 7, command: "shop"))
            let forecast = try forecasting.forecast(
                ExplainRecordParameters(record: try JSONValue(json: #"{"message":"Payment failed"}"#)))
            let limits = try #require(forecast.destinations.first).limits
            #expect(limits.first { $0.limit == "daily_bytes" }?.available == 10_000 - 700)
            let global = try #require(limits.first { $0.limit == "global_rate" })
            #expect((global.available, global.burst, global.reserved) == (210, 300, 90))
            let application = try #require(limits.first { $0.limit == "application_rate" })
            #expect((application.available, application.burst, application.reserved) == (80, 100, 20))
        }
    }
}
