import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing
import Torture

@Suite("Kills of the daemon", .daemonLog)
struct CrashTests {
    @Test("After a kill under load, every record with a receipt is stored once, and is delivered", .runSeed)
    func killedInMidLoad() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            var generator = SeededGenerator(SeededGenerator.runSeed)
            var promised: [String: String] = [:]
            for round in 1...4 {
                let load = try Load(daemon.socket, clients: 4, pipelined: 8, recordsPerCall: 3, round: round)
                let enough = Int.random(in: 1...400, using: &generator)
                try await eventually("enough receipts were sent") { load.receipts.count >= enough }
                try daemon.kill()
                #expect(load.waitForEnd())
                promised.merge(load.receipts) { old, _ in old }
                try daemon.start()
            }

            let client = try RawClient(path: daemon.socket)
            let stored = try client.allRecords()
            var counts: [String: Int] = [:]
            for record in stored { counts[record.record.message, default: 0] += 1 }
            #expect(counts.values.allSatisfy { $0 == 1 })
            let ids = Dictionary(uniqueKeysWithValues: stored.map { ($0.record.message, $0.id) })
            for (message, id) in promised where ids[message] != id {
                Issue.record("\(message) had the receipt \(id), and is stored as \(ids[message] ?? "nothing")")
            }

            try await eventually("all records are delivered") {
                try client.destination().ledger.pending == 0
            }
            let ledger = try client.destination().ledger
            #expect(ledger.balances)
            #expect(ledger.delivered == Int64(stored.count))
            let comparison = listener.compare(with: stored.map(\.id))
            #expect(comparison.isMet)
            #expect(try daemon.file.ledgerFaults == [])
            // Duplicates are marked as possible duplicates.
            for id in comparison.duplicated.keys {
                let fates = try client.show(id).fates
                #expect(fates.allSatisfy { $0.maybeDuplicate }, "\(id)")
            }
        }
    }

    @Test("A repeated numbered call gets the same ids: immediately, after a restart, and after a kill")
    func numberedCalls() async throws {
        try await DaemonFixture.with { daemon in
            let producer = "019aa3c5-0000-7000-8000-000000000001"
            let records = (1...5).map { IssueRecord(message: "Record \($0)") }
            let first = try RawClient(path: daemon.socket).report(records, producer: producer, sequence: 10)
            let ids = try first.map { try $0.storedID }
            func again() throws -> [RecordReceipt] {
                try RawClient(path: daemon.socket).report(records, producer: producer, sequence: 10)
            }
            let duplicates = ids.map { RecordReceipt.duplicate(id: $0) }
            #expect(try again() == duplicates)
            try daemon.restart()
            #expect(try again() == duplicates)
            try daemon.kill()
            try daemon.start()
            #expect(try again() == duplicates)

            // A call with records up to the producer mark and one above it gets the known ids, then a new one.
            let more = records + [IssueRecord(message: "Record 6")]
            let straddling = try RawClient(path: daemon.socket).report(more, producer: producer, sequence: 10)
            #expect(Array(straddling.prefix(5)) == duplicates)
            guard case .stored = straddling[5] else {
                Issue.record("\(straddling[5])")
                return
            }
            try await eventually("the status has the records") {
                try RawClient(path: daemon.socket).status().received == 6
            }
            #expect(try RawClient(path: daemon.socket).allRecords().count == 6)
        }
    }

    @Test("A client that lost its receipts because of a kill resends, and nothing is stored twice")
    func resendAfterKill() async throws {
        try await DaemonFixture.with { daemon in
            let producer = "019aa3c5-0000-7000-8000-000000000002"
            func records(_ call: Int) -> [IssueRecord] {
                (0..<10).map { IssueRecord(message: "Call \(call) record \($0)") }
            }
            let client = try RawClient(path: daemon.socket)
            for call in 0..<20 {
                try client.begin(
                    .report, ReportParameters(records: records(call), producer: producer, sequence: Int64(call * 10)))
            }
            // Some receipts arrive, then the daemon is killed. It is unknown which calls the daemon has stored.
            _ = try client.reply()
            try daemon.kill()
            try daemon.start()
            let second = try RawClient(path: daemon.socket)
            for call in 0..<20 {
                let receipts = try second.report(records(call), producer: producer, sequence: Int64(call * 10))
                for receipt in receipts { #expect(throws: Never.self) { try receipt.storedID } }
            }
            let messages = try second.allRecords().map(\.record.message)
            #expect(messages.count == 200)
            #expect(Set(messages).count == 200)
        }
    }
}
