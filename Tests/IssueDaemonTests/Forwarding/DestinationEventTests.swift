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

    /// Runs a service whose requests have this result until a condition is met.
    private func run(
        _ result: DeliveryResult, _ path: String, _ writer: WriterService, _ destination: DestinationRow,
        until isMet: (StoreReader) throws -> Bool
    ) throws {
        var settings = ForwardingService.Settings(
            forward: .withoutLimits, limits: .withoutLimits, host: "h",
            report: { kind, text in self.events.withLock { $0.append((kind, text)) } })
        (settings.forward.batchDelay, settings.forward.resumeDelay, settings.watchDelay) = (.zero, .zero, .zero)
        let service = ForwardingService(
            destination: destination, settings: settings, path: path, writer: writer,
            statusRegistry: StatusRegistry(path: path), log: .silent)
        let thread = try JoinableThread(name: "forward") {
            service.run({ SilentShipper(result: result) }, fatesChanged: {})
        }
        defer {
            service.stop()
            thread.join()
        }
        let reader = try StoreReader(path: path)
        try waitUntil("the condition is met") { try isMet(reader) }
    }

    /// Creates a database with a record that has waited for some time.
    private func with(
        age: Duration, _ body: (String, WriterService, DestinationRow) throws -> Void
    ) throws {
        try ScanFixture.withPath { path in
            let destination = try ScanFixture(path, .withoutLimits, seed: 1).destination
            try ScanFixture.withWriter(path) { writer in
                let record = try Submission([IssueRecord(message: "Failed")])
                let received = Clock.wall.advanced(by: .zero - age)
                try writer.perform { _ = try $0.commit([record], wall: received, monotonic: Clock.monotonic) }
                try body(path, writer, destination)
            }
        }
    }

    private static let refused = DeliveryResult(.again(.refused, retryAfter: nil), ResponseSummary("refused by h:1"))
    private static let accepted = DeliveryResult(.accepted, ResponseSummary("200"))

    @Test("A delay is reported once, also across a restart, and its end once records are accepted")
    func delay() throws {
        try with(age: .seconds(1200)) { path, writer, destination in
            func attempts(_ reader: StoreReader) throws -> Int64 {
                try reader.destination(destination.id)?.state.batchAttempts ?? 0
            }
            try run(Self.refused, path, writer, destination) { try !texts().isEmpty && attempts($0) >= 1 }
            #expect(texts().count == 1)
            #expect(texts()[0].hasPrefix("destination-delayed d: "))
            #expect(texts()[0].hasSuffix("The oldest pending record has waited 20 min."))
            let row = try #require(try StoreReader(path: path).destination(destination.id))
            let before = row.state.batchAttempts
            try run(Self.refused, path, writer, row) { try attempts($0) > before + 1 }
            #expect(texts().count == 1)
            let last = try #require(try StoreReader(path: path).destination(destination.id))
            try run(Self.accepted, path, writer, last) { _ in texts().count == 2 }
            #expect(texts()[1] == "destination-recovered d: accepts records again after 20 min")
        }
    }

    @Test("The end of a pause is reported, also after a restart, and a young record is not a delay")
    func pause() throws {
        try with(age: .seconds(60)) { path, writer, destination in
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

    @Test("Dead letters are reported with their number and the answer")
    func deadLetters() throws {
        try with(age: .zero) { path, writer, destination in
            let rejected = DeliveryResult(.partial(PartialAnswer(successful: 0)), ResponseSummary("400: rejected"))
            try run(rejected, path, writer, destination) { _ in !texts().isEmpty }
            #expect(texts() == ["dead-letters d: 1 new dead letter (400: rejected): see issuectl dead-letters"])
        }
    }
}
