import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Resent reports, and reports that only look resent", .daemonLog)
struct ResendTests {
    private let producer = "019aa3c5-0000-7000-8000-000000000011"
    private let other = "019aa3c5-0000-7000-8000-000000000012"

    private func records(_ numbers: ClosedRange<Int64>, _ word: String = "Record") -> [IssueRecord] {
        numbers.map { IssueRecord(message: "\(word) \($0)") }
    }

    private func duplicates(_ ids: some Sequence<String>) -> [RecordReceipt] {
        ids.map { .duplicate(id: $0) }
    }

    @Test("A call that is resent on another connection, while the first is still open, is stored once")
    func twoConnections() async throws {
        try await DaemonFixture.with { daemon in
            let first = try RawClient(path: daemon.socket)
            let ids = try first.report(records(1...5), producer: producer, sequence: 1).map { try $0.storedID }
            let second = try RawClient(path: daemon.socket)
            #expect(try second.report(records(1...5), producer: producer, sequence: 1) == duplicates(ids))
            let more = try second.report(records(6...8), producer: producer, sequence: 6).map { try $0.storedID }
            // The records of a later call on the first connection are already known.
            let late = try first.report(records(4...7), producer: producer, sequence: 4)
            #expect(late == duplicates(ids[3...] + more[..<2]))
            try daemon.kill()
            try daemon.start()
            let third = try RawClient(path: daemon.socket)
            #expect(try third.report(records(1...8), producer: producer, sequence: 1) == duplicates(ids + more))
            try await eventually("the status has the records") { try third.status().received == 8 }
        }
    }

    @Test("Records of another producer with equal numbers are not duplicates, even if that producer is a forked child")
    func twoProducers() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let ids = try client.report(records(1...5), producer: producer, sequence: 1).map { try $0.storedID }
            // A fork has its parent's connection and numbers, and a producer id of its own.
            let receipts = try client.report(records(1...5, "Child"), producer: other, sequence: 1)
            for receipt in receipts {
                guard case .stored(let id) = receipt else {
                    Issue.record("\(receipt)")
                    continue
                }
                #expect(!ids.contains(id))
            }
            try await eventually("the status has the records") { try client.status().received == 10 }
        }
    }

    @Test("Spilled reports, which have a producer of their own, are stored even if newer reports were sent first")
    func spilled() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report(records(100...110), producer: producer, sequence: 100)
            let kept = try client.report(records(1...5, "Kept"), producer: other, sequence: 1)
            for receipt in kept {
                if case .stored = receipt { continue }
                Issue.record("\(receipt)")
            }
            try await eventually("the status has the records") { try client.status().received == 16 }
        }
    }

    @Test("After a refused call, later calls are refused until it is resent, so no record is lost as a duplicate")
    func refusedBetween() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            try client.begin(
                .report, ReportParameters(records: records(1...3), producer: producer, sequence: 1))
            // A call that can't be accepted at all, and a later one that was sent before the client could know.
            try client.begin(.report, ReportParameters(records: [], producer: producer, sequence: 4))
            try client.begin(
                .report, ReportParameters(records: records(7...9), producer: producer, sequence: 7))
            #expect(try client.answer(of: ReportReply.self).receipts.count == 3)
            #expect(CollectorError(try client.reply()) != nil)
            guard case .busy = CollectorError(try client.reply()) else {
                Issue.record("The call after the refused one was not answered with Busy.")
                return
            }
            let again = try client.report(records(4...6), producer: producer, sequence: 4)
            let behind = try client.report(records(7...9), producer: producer, sequence: 7)
            for receipt in again + behind {
                if case .stored = receipt { continue }
                Issue.record("\(receipt)")
            }
            try await eventually("the status has the records") { try client.status().received == 9 }
        }
    }
}
