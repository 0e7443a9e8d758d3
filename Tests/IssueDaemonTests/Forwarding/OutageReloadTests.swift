import IssueCore
import IssueProtocol
import IssueStore
import IssueTestSupport
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
                    let before = try nextAttempt()
                    try destinations.start(
                        configuration, replacing: previous, path: path, writer: writer, statusRegistry: statusRegistry,
                        log: log,
                        limitMonitor: LimitMonitor { _, _ in }, report: { _, _ in }, fatesChanged: {})
                    previous = configuration
                    // The first attempt is due at once. It fails, and the next one has another time than before.
                    try waitUntil("a request has failed") {
                        guard let next = try nextAttempt(), next > Clock.wall else { return false }
                        // The same time can differ by a millisecond, since it is computed from two clocks.
                        guard let before else { return true }
                        return !((.milliseconds(-20))...(.milliseconds(20))).contains(before.duration(to: next))
                    }
                    destinations.stop(timeout: .seconds(2))
                    return lines().count { $0.contains("destination.unreachable") }
                }
                /// Returns the time of the next attempt; nil if no request was refused.
                func nextAttempt() throws -> IssueTimestamp? {
                    let figures = try StoreReader(path: path).figures(viewer: .everything)
                    let status = statusRegistry.status(figures, viewer: .everything).destinations.first
                    return status?.reason == FailureClass.refused.rawValue ? status?.nextAttempt : nil
                }
                #expect(try run("") == 1)
                #expect(try run("BatchRecords=7\n") == 1)
                #expect(try run("", port: 2) == 2)
            }
        }
    }
}
