import IssueCore
import IssueProtocol
import IssueStore
import Testing

@testable import IssueDaemon

@Suite("The forecast of a record")
struct RecordForecastingTests {
    @Test("Users share the limit on new applications with the person to whom their subordinate ids belong")
    func subordinates() throws {
        var settings = ForecastSettings()
        settings.ingest.applicationsPerUser = 2
        settings.users = AccountableUsers(
            subordinates: Array("ann:100000:65536\n".utf8), users: Array("ann:x:1000:1000::/:/bin/sh\n".utf8))
        try ScanFixture.with(.withoutLimits, seed: 1) { fixture in
            for app in ["first", "second"] {
                let record = IssueRecord(message: "Broken", app: Application(name: app))
                _ = try fixture.writer.commit(
                    [Submission([record], uid: 100_006)], wall: Clock.wall, monotonic: Clock.monotonic)
            }
            let record = IssueRecord(message: "Broken", app: Application(name: "third"))
            let parameters = ExplainRecordParameters(record: try JSONValue(json: record.json), user: 100_005)
            func forecast() throws -> RecordForecast {
                try RecordForecasting(
                    settings: settings, reader: fixture.reader, viewer: .everything,
                    requester: Sender(uid: 0, gid: 0, pid: 1)
                ).forecast(parameters)
            }
            #expect(try forecast().app == "overflow")
            settings.users = AccountableUsers()
            #expect(try forecast().app == "third")
        }
    }
}
