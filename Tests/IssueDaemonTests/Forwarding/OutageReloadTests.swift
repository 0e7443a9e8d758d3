import IssueCore
import IssueProtocol
import IssueStore
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Outages and reloads")
struct OutageReloadTests {
    @Test("An outage is logged again after a reload only if the destination has another address")
    func once() throws {
        try ScanFixture.withPath { path in
            let (log, lines) = keptLog()
            try ScanFixture.withWriter(path) { writer in
                try writer.perform {
                    _ = try $0.commit(
                        [Submission([IssueRecord(message: "m")])], wall: Clock.wall, monotonic: Clock.monotonic)
                }
                let statusRegistry = StatusRegistry(path: path)
                let destinations = Destinations()
                var previous: Configuration?
                /// Runs the destination until a request has failed. Returns the number of log lines about outages.
                func run(_ options: String, port: Int = 1) throws -> Int {
                    let text = "[OTLP]\nURL=http://127.0.0.1:\(port)\nBacklog=all\n\(options)"
                    var configuration = try ConfigurationFolder().load(text)
                    configuration.destinations[0].settings.forward.resumeDelay = .zero
                    configuration.destinations[0].settings.forward.criticalDelay = .zero
                    let before = try requests()
                    try destinations.start(
                        configuration, replacing: previous, path: path, writer: writer, statusRegistry: statusRegistry,
                        log: log,
                        limitMonitor: LimitMonitor { _, _ in }, paused: { _ in }, fatesChanged: {})
                    previous = configuration
                    let deadline = MonotonicClock.now.advanced(by: .seconds(30))
                    while try requests() == before, MonotonicClock.now < deadline {
                        Clock.sleep(for: .milliseconds(5))
                    }
                    destinations.stop(timeout: .seconds(2))
                    return lines().count { $0.contains("destination.unreachable") }
                }
                func requests() throws -> Int {
                    let figures = try StoreReader(path: path).figures(viewer: .everything)
                    return statusRegistry.status(figures, viewer: .everything).destinations.first?.requests ?? 0
                }
                #expect(try run("") == 1)
                #expect(try run("BatchRecords=7\n") == 1)
                #expect(try run("", port: 2) == 2)
            }
        }
    }
}
