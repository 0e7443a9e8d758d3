import IssueProtocol
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("The outbox")
struct OutboxTests {
    @Test(
        "With priority records, requeues, dead letters and summaries, the ledger equals the sum of all fates",
        arguments: 0..<8 as Range<UInt64>)
    func books(seed: UInt64) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 50
            let driver = try OutboxDriver(store, seed: seed)
            var (requeued, dead): (Int64, Int64) = (0, 0)
            for _ in 0..<60 {
                switch driver.chance(9) {
                case 0, 1: try driver.report(Int(driver.chance(12)) + 1)
                case 2: try driver.priority()
                case 3: try driver.resend()
                case 4, 5: try driver.walk(Int(driver.chance(10)) + 1)
                case 6: try driver.summarise()
                case 7: requeued += try driver.requeue()
                default: try driver.answer()
                }
                let (ledger, fates) = (try driver.ledger, try driver.fates())
                #expect(ledger.balances)
                dead = max(dead, ledger.deadLettered)
                for fate in IssueFate.Outcome.allCases {
                    #expect(ledger[fate] == fates[fate] ?? 0, "\(fate), seed \(seed)")
                }
                try expectSound(store)
            }
            #expect(dead > 0)
            #expect(requeued > 0)
        }
    }

    @Test("A priority record is delivered before the backlog, and the scan skips it")
    func priority() throws {
        try TemporaryStore.with { store in
            let driver = try OutboxDriver(store, seed: 1)
            let ordinary = try store.store((0..<3).map { _ in IssueRecord(message: "usual") }, to: driver.writer)
            let critical = try store.store([IssueRecord(message: "usual", severity: .critical)], to: driver.writer)
            let found = try driver.reader.priority(for: 1, above: 1, limit: 10)
            #expect(found.map(\.candidate.record) == [4])
            let backlog = try driver.reader.backlog(of: driver.destination, after: 0, priority: 1)
            #expect(backlog.priorityRecords == 1)

            var batch = NewBatch(destination: driver.destination, kind: .priority, at: store.wall)
            let candidate = try #require(found.first).candidate
            batch.sent = [
                SentRecord(
                    row: 4, account: candidate.account, count: 1, suppressedBefore: 0, occurrences: 1)
            ]
            batch.priorityThrough = 4
            let stored = try driver.writer.store(batch)
            #expect(try driver.reader.unansweredBatch(of: driver.destination) == stored)
            #expect(try driver.row.priority == 4)
            #expect(try driver.row.cursor == 0)
            #expect(try fate(critical[0], driver) == .pending)
            try driver.writer.settle(BatchSettlement(of: stored, at: store.wall), destination: driver.destination)
            #expect(try fate(critical[0], driver) == .delivered)
            #expect(try fate(ordinary[0], driver) == .pending)
            let ahead = try driver.reader.sentAhead(of: driver.destination, in: 1...4, priority: 4)
            #expect(ahead == StoreReader.SentAhead(singles: [4], refused: [1]))
            #expect(
                try driver.reader.backlog(of: driver.destination, after: 0, priority: 4).priorityRecords == 0)
            try expectSound(store)
        }
    }

    @Test("A record becomes a dead letter with its summary, and is summarised again when the summary is requeued")
    func deadSummary() throws {
        try TemporaryStore.with { store in
            let driver = try OutboxDriver(store, seed: 1)
            let ids = try store.store((0..<4).map { IssueRecord(message: "m", code: $0 / 2) }, to: driver.writer)
            let walked = try driver.reader.walk(after: 0, limit: 4).map(\.candidate)
            var batch = NewBatch(destination: driver.destination, at: store.wall)
            batch.span = 1...4
            batch.summarised = walked.map { .init(account: $0.account, records: 1, occurrences: 1) }
            // Each of the two groups has records held back for both reasons.
            batch.held = [.groupRate: [1, 3], .globalRate: [2, 4]]
            _ = try driver.writer.store(batch)
            let at = RecordLogInstant(milliseconds: 1)
            let drafts = [SuppressionReason.groupRate, .globalRate].map { reason in
                SummaryDraft(
                    group: nil, account: walked[0].account, reason: reason, windowStart: at, windowEnd: at,
                    suppressedCount: 2, suppressedOccurrences: 2, forwardedCount: 0, occurrences: 4,
                    summarySequence: 1, firstSeen: at, lastSeen: at, samples: [], maxSeverity: .error,
                    stillSuppressing: false, distinctGroups: 2,
                    spans: batch.held[reason]?.map {
                        SummaryRange(group: walked[Int($0.rawValue) - 1].group, reason: reason, records: $0...$0)
                    } ?? [])
            }
            try driver.writer.store(
                drafts.map { .init(draft: $0, line: Array("{}".utf8)) }, changes: AdmissionChanges(),
                destination: driver.destination, at: store.wall)
            var carrying = NewBatch(destination: driver.destination, at: store.wall)
            carrying.summaries = try driver.reader.unsentSummaries(of: driver.destination, limit: 9)
            let stored = try driver.writer.store(carrying)
            try driver.writer.settle(
                BatchSettlement(of: stored, dead: [1], at: store.wall), destination: driver.destination)

            #expect(
                try ids.map { try fate($0, driver) } == [.summarised, .deadLettered, .summarised, .deadLettered])
            let shown = try driver.reader.fates(of: ids[1].text, viewer: .everything)[0]
            #expect(shown.answer == "answer")
            #expect(shown.attempts == 1)
            #expect(try driver.ledger.deadLettered == 2)
            try expectSound(store)

            let letters = try store.shell().numbers("SELECT id FROM dead_letters")
            #expect(try driver.writer.requeue(letters) == 1)
            #expect(try driver.reader.unsentSummaries(of: driver.destination, limit: 9) == [stored.summaries[1]])
            #expect(try ids.map { try fate($0, driver) } == Array(repeating: .summarised, count: 4))
            #expect(try driver.ledger.summarised == 4)
            try expectSound(store)
        }
    }

    @Test("A dead letter is removed with its record, and none is stored for a record that has been removed")
    func lettersOfRemovedRecords() throws {
        try TemporaryStore.with { store in
            let driver = try OutboxDriver(store, seed: 5)
            func letters() throws -> Int64 { try store.shell().number("SELECT count(*) FROM dead_letters") }
            func send() throws -> StoredBatch {
                try driver.writer.store(driver.reader.nextBatch(150, for: driver.destination, at: store.wall))
            }
            // More dead letters than are deleted in one transaction.
            try store.store((0..<150).map { IssueRecord(message: "m", code: $0) }, to: driver.writer)
            let first = try send()
            try driver.writer.settle(
                BatchSettlement(of: first, dead: Array(0..<150), at: store.wall), destination: driver.destination)
            #expect(try letters() == 150)
            try store.forgetAll(driver.writer)
            #expect(try letters() == 0)
            #expect(try driver.ledger.deadLettered == 150)

            try store.store([IssueRecord(message: "n")], to: driver.writer)
            let second = try send()
            try store.forgetAll(driver.writer)
            try driver.writer.settle(
                BatchSettlement(of: second, dead: [0], at: store.wall), destination: driver.destination)
            #expect(try letters() == 0)
            #expect(try store.shell().table("SELECT * FROM ledger_check", columns: 2) == [])
        }
    }

    private func fate(_ id: RecordID, _ driver: OutboxDriver) throws -> IssueFate.Outcome {
        try driver.reader.fates(of: id.text, viewer: .everything)[0].outcome
    }

    @Test("Records sent to a destination that does not confirm are unconfirmed")
    func unconfirmed() throws {
        try TemporaryStore.with { store in
            let driver = try OutboxDriver(store, seed: 3)
            try driver.report(8)
            while try driver.ledger.pending > 0 {
                try driver.walk(8)
                try driver.answer(isConfirmed: false)
            }
            #expect(try driver.ledger.unconfirmed > 0)
            #expect(try driver.ledger.delivered == 0)
            #expect(try driver.fates()[.unconfirmed] == driver.ledger.unconfirmed)
            try expectSound(store)
        }
    }
}
