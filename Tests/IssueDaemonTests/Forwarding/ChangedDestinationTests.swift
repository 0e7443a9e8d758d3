import Destinations
import IssueCore
import IssueProtocol
import IssueStore
import IssueTestSupport
import Synchronization
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
    /// `result`. Calls `body` when `isAnswered` is true.
    private func with(
        _ result: DeliveryResult, paused: @escaping @Sendable (String) -> Void = { _ in },
        until isAnswered: (StoreReader, DestinationRow) throws -> Bool,
        _ body: (String, WriterService) throws -> Void
    ) throws {
        try ScanFixture.withPath { path in
            let destination = try ScanFixture(path, .withoutLimits, seed: 1).destination
            try ScanFixture.withWriter(path) { writer in
                let record = try Submission([IssueRecord(message: "Failed")])
                try writer.perform { _ = try $0.commit([record], wall: Clock.wall, monotonic: Clock.monotonic) }
                var settings = ForwardingService.Settings(
                    forward: .withoutLimits, limits: .withoutLimits, host: "h", paused: paused)
                settings.forward.batchDelay = .zero
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
            limitMonitor: LimitMonitor { _, _ in }, paused: { _ in }, fatesChanged: {})
    }

    private static let busy = DeliveryResult(
        .again(.tooManyRequests, retryAfter: .seconds(3600)), ResponseSummary("429"))

    @Test("A wait that a server has requested ends if the destination gets another URL, but not at a restart")
    func requestedWait() throws {
        func isWaiting(_ reader: StoreReader, _ destination: DestinationRow) throws -> Bool {
            try reader.destination(destination.id)?.state.retryAt != nil
        }
        try with(Self.busy, until: isWaiting) { path, writer in
            func statusAfterStart(url: String, reason: FailureClass) throws -> DestinationStatus {
                let (destinations, registry) = (Destinations(), StatusRegistry(path: path))
                try start(
                    destinations, try configuration(url: url), replacing: try configuration(), path, writer, registry)
                defer { destinations.stop(timeout: .seconds(10)) }
                return try status(registry, path) { $0 == reason.rawValue }
            }
            let same = try statusAfterStart(url: Self.url, reason: .tooManyRequests)
            #expect(try #require(same.nextAttempt) > Clock.wall.advanced(by: .seconds(1800)))
            #expect(same.advice == ForwardingView.requestedWait)
            let other = try statusAfterStart(url: "http://127.0.0.1:2/", reason: .refused)
            #expect(other.advice == nil)
        }
    }

    /// Calls `body` when the destination is paused. Its function starts the destination, and returns its first status.
    private func withPause(
        _ reason: PauseReason, _ body: (_ firstStatus: (_ url: String) throws -> DestinationStatus) throws -> Void
    ) throws {
        func isPaused(_ reader: StoreReader, _ destination: DestinationRow) throws -> Bool {
            try reader.destination(destination.id)?.state.lastLoggedState == "paused: \(reason.rawValue)"
        }
        try with(DeliveryResult(.paused(reason), ResponseSummary("403")), until: isPaused) { path, writer in
            let (destinations, registry) = (Destinations(), StatusRegistry(path: path))
            var previous = try configuration()
            func firstStatus(url: String) throws -> DestinationStatus {
                var configuration = try configuration(url: url)
                // The batch is not sent before the test ends.
                configuration.destinations[0].settings.forward.resumeDelay = .seconds(1_000_000)
                try start(destinations, configuration, replacing: previous, path, writer, registry)
                previous = configuration
                defer { registry.forgetForwarders() }
                defer { destinations.stop(timeout: .seconds(10)) }
                return try status(registry, path) { $0 != DestinationStatus.removedReason }
            }
            try body(firstStatus)
        }
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

    @Test("A pause is shown at once after a restart and after a reload, unless the address has changed")
    func pauseAcrossStarts() throws {
        try withPause(.forbidden) { firstStatus in
            let restarted = try firstStatus(Self.url)
            #expect(restarted.state == .paused)
            #expect(restarted.reason == PauseReason.forbidden.rawValue)
            let reloaded = try firstStatus(Self.url)
            #expect(reloaded.state == .paused)
            #expect(reloaded.failingSince == restarted.failingSince)
            #expect(try firstStatus("http://127.0.0.1:2/").state != .paused)
        }
    }

    @Test("A pause because of a missing credential ends at a restart if the credential is there now")
    func foundCredential() throws {
        // The destination of the configuration needs no credential.
        try withPause(.noCredential) { firstStatus in
            let status = try firstStatus(Self.url)
            #expect(status.state != .paused)
        }
    }

    @Test("A destination that is removed from the configuration is logged once, with its number of pending records")
    func removed() throws {
        func isWaiting(_ reader: StoreReader, _ destination: DestinationRow) throws -> Bool {
            try reader.destination(destination.id)?.state.retryAt != nil
        }
        try with(Self.busy, until: isWaiting) { path, writer in
            let (log, lines) = keptLog()
            let destinations = Destinations()
            let registry = StatusRegistry(path: path)
            let (before, renamed) = (try configuration(), try configuration("renamed"))
            try start(destinations, renamed, replacing: before, path, writer, registry, log: log)
            destinations.stop(timeout: .seconds(10))
            // While the files have an error, the last valid configuration is still the one before.
            try start(destinations, renamed, replacing: before, path, writer, registry, log: log)
            destinations.stop(timeout: .seconds(10))
            let logged = lines().filter { $0.contains(LogEvent.destinationRemoved.id) }
            #expect(logged.count == 1)
            #expect(logged.first?.hasPrefix("issued: warning: ") == true)
            #expect(logged.first?.contains("destination=d pending=1 ") == true)
        }
    }

    @Test("The notification of a pause has the answer and the advice")
    func paused() throws {
        let texts = Mutex<[String]>([])
        try with(
            DeliveryResult(.paused(.forbidden), ResponseSummary("403 from h:1")),
            paused: { text in texts.withLock { $0.append(text) } },
            until: { _, _ in texts.withLock { !$0.isEmpty } }
        ) { _, _ in
            #expect(texts.withLock { $0 } == ["d: forbidden (403 from h:1). \(PauseReason.forbidden.advice)"])
        }
    }
}
