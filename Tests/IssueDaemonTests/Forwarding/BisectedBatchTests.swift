import IssueCore
import IssueProtocol
import IssueStore
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("A batch with a rejected line")
struct BisectedBatchTests {
    private static let word = "poison"

    /// Stores `count` records, of which the tenth has a line that is rejected. Returns their destination.
    private func store(_ count: Int, at path: String) throws -> DestinationRow {
        let fixture = try ScanFixture(path, .withoutLimits, seed: 1)
        try fixture.commit((0..<count).map { IssueRecord(message: $0 == 9 ? Self.word : "line \($0)") })
        try fixture.writer.closeOpenRange()
        return fixture.destination
    }

    /// Forwards `count` records, of which the tenth is rejected.
    ///
    /// - Parameters:
    ///   - request: The number of the request during which `meanwhile` is called.
    ///   - meanwhile: Changes the store before the reply to that request.
    private func forward(
        _ count: Int = 16, during request: Int = 1, breakingFirstBody: Bool = false,
        _ meanwhile: @escaping @Sendable (StoreWriter) throws -> Void
    ) throws -> (requests: [[String]], ledger: Ledger) {
        let requests = Monitor<[[String]]>([])
        var ledger = Ledger()
        try ScanFixture.withPath { path in
            let destination = try store(count, at: path)
            try ScanFixture.withWriter(path) { writer in
                var forward = ForwardSettings.withoutLimits
                forward.batchDelay = .zero
                let service = ForwardingService(
                    destination: destination,
                    settings: ForwardingService.Settings(forward: forward, limits: .withoutLimits, host: "h"),
                    path: path,
                    writer: writer, statusRegistry: StatusRegistry(path: path), log: .silent)
                let moved = Monitor(0)
                let forwarding = try JoinableThread(name: "forward") {
                    service.run({
                        var shipper = RefusingShipper(refusing: Self.word, requests) { number in
                            guard number == request else { return }
                            try? writer.perform { try meanwhile($0) }
                            service.recordsErased()
                        }
                        shipper.breaksFirstBody = breakingFirstBody
                        return shipper
                    }) {
                        moved.withLock { $0 += 1 }
                        moved.broadcast()
                    }
                }
                // The fates change once when the batch is stored, and once when it is finished.
                let hasEnded = moved.wait(deadline: MonotonicClock.now.advanced(by: .seconds(60))) {
                    $0 >= 2 ? true : nil
                }
                #expect(hasEnded == true)
                service.stop()
                forwarding.join()
            }
            ledger = try StoreReader(path: path).figures(viewer: .everything).ledgers[0].ledger
        }
        return (requests.withLock { $0 }, ledger)
    }

    @Test(
        "A record that is erased while its batch is in flight is neither sent again nor counted", arguments: [1, 2])
    func erased(during request: Int) throws {
        let (requests, ledger) = try forward(during: request) { _ = try $0.erase([3, 12]) }
        #expect(requests[0].count == 16)
        #expect(requests.count > 3)
        #expect(requests.dropFirst().allSatisfy { !$0.isEmpty })
        let erased: Set = ["line 2", "line 11"]
        #expect(erased.isDisjoint(with: requests.dropFirst(request).joined()))
        #expect(erased.union(requests.dropFirst().joined()) == Set(requests[0]))
        #expect(ledger.balances)
        #expect(ledger.received == 14)
        #expect(ledger.delivered == 13)
        #expect(ledger.deadLettered == 1)
    }

    @Test(
        "If the rejected record is erased in flight, all others are delivered and there is no dead letter")
    func refusedErased() throws {
        let (requests, ledger) = try forward { _ = try $0.erase([10]) }
        #expect(!requests.dropFirst().flatMap(\.self).contains { $0 == Self.word || $0.isEmpty })
        #expect(ledger.balances)
        #expect(ledger.received == 15)
        #expect(ledger.delivered == 15)
    }

    @Test("A batch whose body could not be compressed is sent in another body")
    func brokenBody() throws {
        // After a failure, a single line is sent, so the body of a batch is sent again only if the batch has one line.
        let (requests, ledger) = try forward(1, breakingFirstBody: true) { _ in }
        #expect(requests == [[], ["line 0"]])
        #expect(ledger.balances)
        #expect(ledger.delivered == 1)
    }

    @Test("A record that retention removes in flight stays expired, because it is unknown whether it arrived")
    func retired() throws {
        let (requests, ledger) = try forward { writer in
            let range = RetentionSnapshot.ClosedRange(
                id: 1, firstID: 1, lastID: 16, newest: RecordLogInstant(milliseconds: 0), hasBatchInFlight: true)
            while try !writer.forget(range).isDone {}
        }
        #expect(requests.count == 1)
        #expect(ledger.balances)
        #expect(ledger.received == 16)
        #expect(ledger.expired == 16)
    }
}
