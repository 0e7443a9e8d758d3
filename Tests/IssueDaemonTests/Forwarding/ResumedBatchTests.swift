import IssueProtocol
import IssueStore
import Testing
import UnixIO

@testable import IssueCore
@testable import IssueDaemon

@Suite("A batch that is unfinished at a restart")
struct ResumedBatchTests {
    /// Stores a batch of four records, of which the last one may have been delivered. After `change`, resumes it and
    /// delivers its lines. Returns how many of them may have been delivered twice.
    private func possibleDuplicates(
        after change: (ScanFixture, StoredBatch, inout DestinationRow.State) throws -> Void
    ) throws -> Int64? {
        var duplicates: Int64?
        try ScanFixture.withPath { path in
            let destination = try store(at: path, change)
            try ScanFixture.withWriter(path) { writer in
                let service = ForwardingService(
                    destination: destination,
                    settings: ForwardingService.Settings(forward: .withoutLimits, limits: .withoutLimits, host: "h"),
                    path: path, writer: writer, statusRegistry: StatusRegistry(path: path), log: .silent)
                let isSettled = Monitor(false)
                let forwarding = try JoinableThread(name: "forward") {
                    service.run({ SilentShipper() }) {
                        isSettled.withLock { $0 = true }
                        isSettled.broadcast()
                    }
                }
                let hasEnded = isSettled.wait(deadline: MonotonicClock.now.advanced(by: .seconds(60))) {
                    $0 ? true : nil
                }
                #expect(hasEnded == true)
                service.stop()
                forwarding.join()
            }
            duplicates = try StoreReader(path: path).destination(destination.id)?.state.maybeDuplicate
        }
        return duplicates
    }

    private func store(
        at path: String, _ change: (ScanFixture, StoredBatch, inout DestinationRow.State) throws -> Void
    ) throws -> DestinationRow {
        let fixture = try ScanFixture(path, .withoutLimits, seed: 1)
        try fixture.commit((0..<4).map { IssueRecord(message: "line \($0)") })
        try fixture.writer.closeOpenRange()
        let scan = try fixture.forwarder().scan(BatchLimit(records: 100, bytes: 1_000_000)).finished
        let batch = try fixture.writer.store(scan)
        #expect(batch.sent.count == 4)
        var state = DestinationRow.State()
        state.unacknowledged[batch.id] = LineSet([3..<4])
        try change(fixture, batch, &state)
        try fixture.writer.save(state, destination: fixture.destination.id)
        return fixture.destination
    }

    @Test("Only the lines that were sent before may be delivered twice")
    func whole() throws {
        #expect(try possibleDuplicates { _, _, _ in } == 1)
    }

    @Test("If a record of the batch was erased, any of the other lines may be delivered twice")
    func erased() throws {
        let duplicates = try possibleDuplicates { fixture, _, _ in _ = try fixture.writer.erase([2]) }
        #expect(duplicates == 3)
    }

    @Test("If a record was erased before the batch was settled in part, any of the other lines may be delivered twice")
    func settledInPart() throws {
        let duplicates = try possibleDuplicates { fixture, batch, state in
            _ = try fixture.writer.erase([2])
            var settlement = BatchSettlement(
                batch: batch, outcome: BatchOutcome(delivered: [0..<1], dead: [], unfinished: LineSet([1..<4])),
                attempts: 1, answer: nil, deadLines: [:], at: Clock.wall, state: state)
            settlement.unacknowledgedOfRest = LineSet([2..<3])
            let rest = try #require(try fixture.writer.settle(settlement, destination: fixture.destination.id))
            state.unacknowledged = [rest.id: settlement.unacknowledgedOfRest]
        }
        #expect(duplicates == 2)
    }

    @Test("Lines that a damaged database names, but that the batch does not have, are ignored")
    func damaged() throws {
        try ScanFixture.withPath { path in
            var id: BatchID = 0
            let destination = try store(at: path) { _, batch, state in
                state.unacknowledged[batch.id] = LineSet([Int.min ..< -1, 1..<2, 3..<Int.max])
                id = batch.id
            }
            try ScanFixture.withWriter(path) { writer in
                let service = ForwardingService(
                    destination: destination,
                    settings: ForwardingService.Settings(forward: .withoutLimits, limits: .withoutLimits, host: "h"),
                    path: path, writer: writer, statusRegistry: StatusRegistry(path: path), log: .silent)
                let failure = DeliveryResult(.again(.reset, retryAfter: nil), ResponseSummary("503"))
                let loop = try ForwardingLoop(service, SilentShipper(result: failure), fatesChanged: {})
                service.stop()
                try loop.run()
                let ranges = try #require(loop.state.unacknowledged[id]).ranges
                #expect(ranges.allSatisfy { 0 <= $0.lowerBound && $0.upperBound <= 4 }, "\(ranges)")
            }
        }
    }
}
