import Destinations
import IssueCore
import IssueProtocol
import IssueStore
import IssueTestSupport
import SQLiteKit
import Synchronization
import TestSockets
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("A destination that fails, and a change of its configuration")
struct ChangedDestinationTests {
    private static let url = "http://127.0.0.1:1/"

    /// A configuration with a destination that refuses connections.
    private func configuration(_ name: String = "d", url: String = url) throws -> Configuration {
        let kind = DestinationKind(OTLPFormat.self)
        var settings = DestinationSettings(kind, limits: .withoutLimits, forward: .withoutLimits)
        settings.forward.resumeDelay = .zero
        settings.proxy = ""
        var configuration = Configuration.default
        configuration.destinations = [
            DestinationConfiguration(
                kind: kind, name: name, address: try #require(HTTPAddress(url: url)), settings: settings)
        ]
        return configuration
    }

    /// Creates a database with a record that is pending for the destination `d`, which has answered a request with
    /// `result`. Calls `body` after `isAnswered` has returned `true` and the forwarding service has stopped.
    private func with(
        _ result: DeliveryResult, report: @escaping @Sendable (NotificationKinds, String) -> Void = { _, _ in },
        until isAnswered: (StoreReader, DestinationRow) throws -> Bool,
        _ body: (String, WriterService) throws -> Void
    ) throws {
        try ScanFixture.withPath { path in
            let destination = try ScanFixture(path, .withoutLimits, seed: 1).destination
            try ScanFixture.withWriter(path) { writer in
                let record = try Submission([IssueRecord(message: "Failed")])
                try writer.perform { _ = try $0.commit([record], wall: Clock.wall, monotonic: Clock.monotonic) }
                var settings = ForwardingService.Settings(
                    forward: .withoutLimits, limits: .withoutLimits, host: "h", report: report)
                settings.forward.batchDelay = .zero
                settings.credentialFile = "/etc/token"
                let service = ForwardingService(
                    destination: destination, settings: settings, path: path, writer: writer,
                    statusRegistry: StatusRegistry(path: path), log: .silent)
                let thread = try JoinableThread(name: "forward") {
                    service.run({ SilentShipper(result: result) }, fatesChanged: {})
                }
                let reader = try StoreReader(path: path)
                do {
                    defer {
                        service.stop()
                        thread.join()
                    }
                    try waitUntil("the request was answered") { try isAnswered(reader, destination) }
                }
                try body(path, writer)
            }
        }
    }

    private func start(
        _ destinations: Destinations, _ configuration: Configuration, replacing previous: Configuration?,
        _ path: String, _ writer: WriterService, _ registry: StatusRegistry, log: Log = .silent
    ) throws {
        try destinations.start(
            configuration, replacing: previous, path: path, writer: writer, statusRegistry: registry, log: log,
            limitMonitor: LimitMonitor { _, _ in }, report: { _, _ in }, fatesChanged: {})
    }

    /// Waits until the reason in the status of the destination meets a condition. Returns the status.
    private func status(
        _ registry: StatusRegistry, _ path: String, when isMet: (String?) -> Bool
    ) throws -> DestinationStatus {
        let reader = try StoreReader(path: path)
        var status: DestinationStatus?
        try waitUntil("the destination has the expected reason") {
            status = registry.status(try reader.figures(viewer: .everything), viewer: .everything).destinations[0]
            return isMet(status?.reason)
        }
        return try #require(status)
    }

    @Test("While the store fails, a destination is shown as waiting for the store, not in its state before the failure")
    func storeFailure() throws {
        try ScanFixture.withPath { path in
            try ScanFixture.withWriter(path) { writer in
                let (destinations, registry) = (Destinations(), StatusRegistry(path: path))
                var configuration = try configuration()
                configuration.destinations[0].settings.backlog = .all
                configuration.destinations[0].settings.forward.batchDelay = .zero
                try start(destinations, configuration, replacing: nil, path, writer, registry)
                defer { destinations.stop(timeout: .seconds(10)) }
                let shell = try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(5))
                try shell.execute(
                    "CREATE TRIGGER fault BEFORE INSERT ON batches BEGIN SELECT RAISE(ABORT, 'fault'); END")
                let record = try Submission([IssueRecord(message: "Failed")])
                try writer.perform { _ = try $0.commit([record], wall: Clock.wall, monotonic: Clock.monotonic) }
                destinations.recordsArrived()
                let waiting = try status(registry, path) { $0 == "store_failed" }
                #expect(waiting.state == .waiting && waiting.nextAttempt != nil)
            }
        }
    }

    private static let busy = DeliveryResult(
        .again(.tooManyRequests, retryAfter: .seconds(3600)), ResponseSummary("429"))

    @Test("A wait that a server has requested ends if the destination gets another URL, but not at a restart")
    func requestedWait() throws {
        func isWaiting(_ reader: StoreReader, _ destination: DestinationRow) throws -> Bool {
            try reader.destination(destination.id)?.state.retryAt != nil
        }
        try with(Self.busy, until: isWaiting) { path, writer in
            func statusAfterStart(url: String, where isMet: @escaping (String) -> Bool) throws -> DestinationStatus {
                let (destinations, registry) = (Destinations(), StatusRegistry(path: path))
                try start(
                    destinations, try configuration(url: url), replacing: try configuration(), path, writer, registry)
                defer { destinations.stop(timeout: .seconds(10)) }
                return try status(registry, path) { $0.map(isMet) ?? false }
            }
            let same = try statusAfterStart(url: Self.url) { $0 == FailureClass.tooManyRequests.rawValue }
            #expect(try #require(same.nextAttempt) > Clock.wall.advanced(by: .seconds(1800)))
            #expect(same.advice == ForwardingView.requestedWait)
            let other = try statusAfterStart(url: "http://127.0.0.1:2/") { $0 == FailureClass.refused.rawValue }
            #expect(other.advice == nil)
        }
    }

    @Test("After a restart or reload, a pause is shown with its original time and is probed; a new address ends it")
    func pauseAcrossStarts() throws {
        func isPaused(_ reader: StoreReader, _ destination: DestinationRow) throws -> Bool {
            try reader.destination(destination.id)?.state.lastLoggedState == "paused: forbidden"
        }
        let refusal = DeliveryResult(.paused(.forbidden), ResponseSummary("403"))
        try with(refusal, until: isPaused) { path, writer in
            let (destinations, registry) = (Destinations(), StatusRegistry(path: path))
            let reader = try StoreReader(path: path)
            let since = try #require(try reader.destination(1)?.state.failingSince)
            // This server accepts connections, but never answers.
            let server = try Socket.listenLoopback()
            let url = "http://127.0.0.1:\(try server.localPort())/"
            var previous = try configuration(url: url)
            func start(url: String) throws {
                var configuration = try configuration(url: url)
                // A batch that is not a probe is not sent before the test ends.
                configuration.destinations[0].settings.forward.resumeDelay = .seconds(1_000_000)
                try self.start(destinations, configuration, replacing: previous, path, writer, registry)
                previous = configuration
            }
            func status() throws -> DestinationStatus {
                registry.status(try reader.figures(viewer: .everything), viewer: .everything).destinations[0]
            }
            for _ in ["restart", "reload"] {
                try start(url: url)
                let isProbed = try Readiness.wait(server, for: .read, timeout: .seconds(30))
                #expect(isProbed)
                #expect(try status().state == .paused)
                #expect(try status().reason == PauseReason.forbidden.rawValue)
                #expect(try status().failingSince == since)
                destinations.stop(timeout: .zero)
                _ = try server.accept()
            }
            try start(url: "http://127.0.0.1:2/")
            try waitUntil("the destination has the expected status") { try status().reason == "resuming" }
            destinations.stop(timeout: .seconds(10))
        }
    }

    @Test("A pause because of a missing credential ends at a restart if the credential is there now")
    func foundCredential() throws {
        func isPaused(_ reader: StoreReader, _ destination: DestinationRow) throws -> Bool {
            try reader.destination(destination.id)?.state.lastLoggedState == "paused: no_credential"
        }
        try with(DeliveryResult(.paused(.noCredential), ResponseSummary("401")), until: isPaused) { path, writer in
            let (destinations, registry) = (Destinations(), StatusRegistry(path: path))
            // The destination of the configuration needs no credential. If it were still paused, a probe would be sent
            // at once, because this delay does not apply to probes.
            var configuration = try configuration()
            configuration.destinations[0].settings.forward.resumeDelay = .seconds(1_000_000)
            try start(destinations, configuration, replacing: nil, path, writer, registry)
            defer { destinations.stop(timeout: .seconds(10)) }
            _ = try status(registry, path) { $0 == "resuming" }
        }
    }

    @Test("A destination that is removed from the configuration is logged once, with its number of pending records")
    func removed() throws {
        func isWaiting(_ reader: StoreReader, _ destination: DestinationRow) throws -> Bool {
            try reader.destination(destination.id)?.state.retryAt != nil
        }
        try with(Self.busy, until: isWaiting) { path, writer in
            let lines = Mutex<[String]>([])
            let log = Log(level: .notice, form: .plain) { line in
                if line.contains(LogEvent.destinationRemoved.id) { lines.withLock { $0.append(line) } }
            }
            let destinations = Destinations()
            let registry = StatusRegistry(path: path)
            let (before, renamed) = (try configuration(), try configuration("renamed"))
            try start(destinations, renamed, replacing: before, path, writer, registry, log: log)
            destinations.stop(timeout: .seconds(10))
            // While the files have an error, the last valid configuration is still the one before.
            try start(destinations, renamed, replacing: before, path, writer, registry, log: log)
            destinations.stop(timeout: .seconds(10))
            let logged = lines.withLock { $0 }
            #expect(logged.count == 1)
            #expect(logged.first?.hasPrefix("issued: warning: ") == true)
            #expect(logged.first?.contains("destination=d pending=1 ") == true)
        }
    }

    @Test("A destination whose section has an error is logged as paused once per start, and reported only once")
    func misconfigured() throws {
        func isWaiting(_ reader: StoreReader, _ destination: DestinationRow) throws -> Bool {
            try reader.destination(destination.id)?.state.retryAt != nil
        }
        try with(Self.busy, until: isWaiting) { path, writer in
            let (log, lines) = keptLog()
            let texts = Mutex<[String]>([])
            let valid = try configuration()
            var wrong = valid
            wrong.destinations = []
            wrong.misconfigured = valid.destinations.map {
                MisconfiguredDestination(kind: $0.kind, name: $0.name, settings: $0.settings)
            }
            var destinations = Destinations()
            func start(_ configuration: Configuration, replacing previous: Configuration?) throws {
                try destinations.start(
                    configuration, replacing: previous, path: path, writer: writer,
                    statusRegistry: StatusRegistry(path: path), log: log, limitMonitor: LimitMonitor { _, _ in },
                    report: { _, text in texts.withLock { $0.append(text) } }, fatesChanged: {})
                destinations.stop(timeout: .seconds(10))
            }
            func counts() -> [Int] {
                [lines().count { $0.contains(LogEvent.destinationPaused.id) }, texts.withLock { $0.count }]
            }
            try start(wrong, replacing: nil)
            #expect(lines().contains { $0.contains("destination=d reason=misconfigured ") })
            #expect(texts.withLock { $0.first }?.hasPrefix("d: misconfigured. Fix the destination's section") == true)
            #expect(counts() == [1, 1])
            // A reload.
            try start(wrong, replacing: wrong)
            #expect(counts() == [1, 1])
            // A restart: like any pause, it is logged again, but not reported.
            destinations = Destinations()
            try start(wrong, replacing: nil)
            #expect(counts() == [2, 1])
        }
    }

    @Test("After a start or reload, no configured destination is shown as removed, not even before its first status")
    func startingDestination() throws {
        func isWaiting(_ reader: StoreReader, _ destination: DestinationRow) throws -> Bool {
            try reader.destination(destination.id)?.state.retryAt != nil
        }
        try with(Self.busy, until: isWaiting) { path, writer in
            let (destinations, registry) = (Destinations(), StatusRegistry(path: path))
            let (before, renamed) = (try configuration(), try configuration("renamed"))
            try start(destinations, before, replacing: nil, path, writer, registry)
            #expect(registry.hasDestination(named: "d"))
            destinations.stop(timeout: .seconds(10))
            #expect(registry.hasDestination(named: "d"))
            try start(destinations, renamed, replacing: before, path, writer, registry)
            #expect(!registry.hasDestination(named: "d") && registry.hasDestination(named: "renamed"))
            destinations.stop(timeout: .seconds(10))
        }
    }

    @Test("The notification of a pause has the answer and the advice")
    func paused() throws {
        let texts = Mutex<[String]>([])
        try with(
            DeliveryResult(.paused(.forbidden), ResponseSummary("403 from h:1")),
            report: { _, text in texts.withLock { $0.append(text) } },
            until: { _, _ in texts.withLock { !$0.isEmpty } }
        ) { _, _ in
            #expect(texts.withLock { $0 } == ["d: forbidden (403 from h:1). \(PauseReason.forbidden.advice)"])
        }
    }

    @Test("The advice after a 401 names the file of the credential")
    func credentialFile() throws {
        let texts = Mutex<[String]>([])
        try with(
            DeliveryResult(.paused(.unauthorised), ResponseSummary("401 from h:1")),
            report: { _, text in texts.withLock { $0.append(text) } },
            until: { _, _ in texts.withLock { !$0.isEmpty } }
        ) { _, _ in
            #expect(texts.withLock { $0.allSatisfy { $0.hasSuffix(" The file is /etc/token.") } })
        }
    }
}
