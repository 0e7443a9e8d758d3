import IssueCore
import IssueProtocol
import IssueStore
import IssueTestSupport
import Synchronization
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Events about destinations")
final class DestinationEventTests: Sendable {
    private let events = Mutex<[(kind: NotificationKinds, text: String)]>([])

    private func texts() -> [String] { events.withLock { $0.map { "\($0.kind.names[0]) \($0.text)" } } }

    /// Runs a service with a shipper until a condition is met.
    private func run<Destination: Shipper & SendableMetatype & ~Copyable>(
        _ makeShipper: @escaping @Sendable () -> Destination, _ path: String, _ writer: WriterService,
        _ destination: DestinationRow, until isMet: (ForwardingService, StoreReader) throws -> Bool
    ) throws {
        var settings = ForwardingService.Settings(
            forward: .withoutLimits, limits: .withoutLimits, host: "h",
            report: { kind, text in self.events.withLock { $0.append((kind, text)) } })
        (settings.forward.batchDelay, settings.forward.resumeDelay) = (.zero, .zero)
        let service = ForwardingService(
            destination: destination, settings: settings, path: path, writer: writer,
            statusRegistry: StatusRegistry(path: path), log: .silent)
        let thread = try JoinableThread(name: "forward") { service.run(makeShipper, fatesChanged: {}) }
        defer {
            service.stop()
            thread.join()
        }
        let reader = try StoreReader(path: path)
        try waitUntil("the condition is met") { try isMet(service, reader) }
    }

    /// Runs a service whose requests have this result until a condition is met.
    private func run(
        _ result: DeliveryResult, _ path: String, _ writer: WriterService, _ destination: DestinationRow,
        until isMet: (StoreReader) throws -> Bool
    ) throws {
        try run({ SilentShipper(result: result) }, path, writer, destination) { try isMet($1) }
    }

    /// Creates a database with records.
    private func with(
        _ records: [IssueRecord] = [IssueRecord(message: "Failed")],
        _ body: (String, WriterService, DestinationRow) throws -> Void
    ) throws {
        try ScanFixture.withPath { path in
            let destination = try ScanFixture(path, .withoutLimits, seed: 1).destination
            try ScanFixture.withWriter(path) { writer in
                try store(records, writer)
                try body(path, writer, destination)
            }
        }
    }

    private func store(_ records: [IssueRecord], _ writer: WriterService) throws {
        let submission = try Submission(records)
        try writer.perform { _ = try $0.commit([submission], wall: Clock.wall, monotonic: Clock.monotonic) }
    }

    private static let refused = DeliveryResult(.again(.refused, retryAfter: nil), ResponseSummary("refused by h:1"))
    private static let accepted = DeliveryResult(.accepted, ResponseSummary("200"))

    @Test("A delay is reported only once, even across a restart, and its end when records are accepted")
    func delay() throws {
        try with { path, writer, destination in
            func stored(_ reader: StoreReader) throws -> DestinationRow {
                try #require(try reader.destination(destination.id))
            }
            try run(Self.refused, path, writer, destination) { try stored($0).state.batchAttempts >= 1 }
            #expect(texts() == [])
            var row = try stored(try StoreReader(path: path))
            row.state.failingSince = row.state.failingSince?.advanced(by: .seconds(-1200))
            let (state, id) = (row.state, row.id)
            try writer.perform { try $0.save(state, destination: id) }
            try run(Self.refused, path, writer, row) { _ in texts().count == 1 }
            #expect(
                texts() == ["destination-delayed d: has not accepted records for 20 min: refused (refused by h:1)"])
            let last = try stored(try StoreReader(path: path))
            try run(Self.refused, path, writer, last) {
                try stored($0).state.batchAttempts > last.state.batchAttempts + 1
            }
            #expect(texts().count == 1)
            try run(Self.accepted, path, writer, try stored(try StoreReader(path: path))) { _ in texts().count == 2 }
            #expect(texts()[1] == "destination-recovered d: accepts records again after 20 min")
        }
    }

    @Test("After a start, a delay is reported only if a request fails, however long ago the first one failed")
    func delayBeforeStart() throws {
        try with { path, writer, destination in
            func stored(_ reader: StoreReader) throws -> DestinationRow {
                try #require(try reader.destination(destination.id))
            }
            try run(Self.refused, path, writer, destination) { try stored($0).state.batchAttempts >= 1 }
            var row = try stored(try StoreReader(path: path))
            row.state.failingSince = row.state.failingSince?.advanced(by: .seconds(-1200))
            let (state, id) = (row.state, row.id)
            try writer.perform { try $0.save(state, destination: id) }
            try run(Self.accepted, path, writer, row) { try stored($0).state.failingSince == nil }
            #expect(texts() == [])
        }
    }

    @Test("A delay is reported when it is due, however long the destination asks the next request to wait")
    func delayDuringWait() throws {
        try with { path, writer, destination in
            func stored() throws -> DestinationRow {
                try #require(try StoreReader(path: path).destination(destination.id))
            }
            let busy = DeliveryResult(.again(.tooManyRequests, retryAfter: .seconds(3600)), ResponseSummary("429"))
            try run(busy, path, writer, destination) { _ in try stored().state.batchAttempts >= 1 }
            #expect(texts() == [])
            var row = try stored()
            row.state.failingSince = Clock.wall.advanced(by: .seconds(1) - DestinationWatch.maxDelay)
            let (state, id) = (row.state, row.id)
            try writer.perform { try $0.save(state, destination: id) }
            try run(busy, path, writer, row) { _ in texts().count == 1 }
            let reason = FailureClass.tooManyRequests.rawValue
            #expect(texts() == ["destination-delayed d: has not accepted records for 15 min: \(reason) (429)"])
            #expect(try stored().state.batchAttempts == row.state.batchAttempts)
        }
    }

    @Test("The end of a pause is reported, also after a restart")
    func pause() throws {
        try with { path, writer, destination in
            let forbidden = DeliveryResult(.paused(.forbidden), ResponseSummary("403"))
            try run(forbidden, path, writer, destination) {
                try $0.destination(destination.id)?.state.watch.outageSince != nil
            }
            let row = try #require(try StoreReader(path: path).destination(destination.id))
            try run(Self.accepted, path, writer, row) { _ in texts().count == 2 }
            #expect(texts()[0].hasPrefix("destination-paused d: forbidden (403). "))
            #expect(texts()[1].hasPrefix("destination-recovered d: accepts records again after "))
        }
    }

    @Test("A priority record that is accepted during a pause does not end the pause")
    func priorityInPause() throws {
        let requests = Monitor<[[String]]>([])
        try with((0..<300).map { _ in IssueRecord(message: "bad") }) { path, writer, destination in
            var isStored = false
            let makeShipper = { @Sendable in RefusingShipper(refusing: "bad", requests) { _ in } }
            try run(makeShipper, path, writer, destination) { service, reader in
                guard !texts().isEmpty else { return false }
                if !isStored {
                    try store([IssueRecord(message: "Grave", severity: .critical)], writer)
                    service.recordsArrived()
                    isStored = true
                }
                return try reader.figures(viewer: .everything).ledgers[0].ledger.delivered == 1
            }
            #expect(requests.withLock { $0.contains(["Grave"]) })
            #expect(texts().count == 1 && texts()[0].hasPrefix("destination-paused d: many_lines_refused "))
        }
    }

    @Test("Dead letters are reported with their number and the answer")
    func deadLetters() throws {
        try with { path, writer, destination in
            let rejected = DeliveryResult(.partial(PartialAnswer(successful: 0)), ResponseSummary("400: rejected"))
            try run(rejected, path, writer, destination) { _ in !texts().isEmpty }
            #expect(texts() == ["dead-letters d: 1 new dead letter, see issuectl dead-letters (400: rejected)"])
        }
    }
}
