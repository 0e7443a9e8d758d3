import IssueProtocol
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("A batch")
struct BatchTests {
    /// A store with one destination, and records that are sent, withheld and summarised in turn.
    private struct Fixture {
        let store: TemporaryStore
        let writer: StoreWriter
        let reader: StoreReader
        let destination: Int64
        var ids: [RecordID] = []

        init(_ store: TemporaryStore, records: Int = 12) throws {
            self.store = store
            writer = try store.writer()
            destination = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)[0].id
            var samples = SampleRecords(seed: 4)
            for _ in 0..<3 { ids += try store.store(samples.records(records / 3), to: writer) }
            reader = try store.reader()
        }

        func batch(_ records: [OutboxRecord]) -> NewBatch {
            var batch = NewBatch(destination: destination, at: store.wall)
            guard let first = records.first?.candidate.record, let last = records.last?.candidate.record else {
                return batch
            }
            batch.span = first...last
            for (index, record) in records.enumerated() {
                let candidate = record.candidate
                let tally = NewBatch.Tally(account: candidate.account, records: 1, occurrences: candidate.count)
                switch index % 3 {
                case 0:
                    batch.sent.append(
                        SentRecord(
                            row: candidate.record, account: candidate.account, count: candidate.count,
                            suppressedBefore: Int64(index), occurrences: 100 + Int64(index)))
                case 1:
                    batch.withheld.append(candidate.record)
                    batch.withheldTally.append(tally)
                default: batch.summarised.append(tally)
                }
            }
            return batch
        }

        func settlement(
            _ batch: StoredBatch, dead: [Int: DeadLetterReason] = [:], maybeDuplicate: Bool = false
        ) -> BatchSettlement {
            BatchSettlement(
                batch: batch,
                outcome: BatchOutcome(
                    delivered: [], dead: dead.sorted { $0.key < $1.key }.map { .init(line: $0.key, reason: $0.value) },
                    possibleDuplicates: maybeDuplicate ? 1 : 0),
                attempts: 2, answer: "200 OK", deadLines: dead.reduce(into: [:]) { $0[$1.key] = Array("line".utf8) },
                at: store.wall, state: DestinationRow.State())
        }

        func fates() throws -> [IssueFate.Outcome] {
            try ids.map { try reader.fates(of: $0.text, viewer: .everything)[0].outcome }
        }
    }

    private static let stored: [IssueFate.Outcome] = [
        .pending, .withheld, .summarised, .pending, .withheld, .summarised,
    ]

    @Test("A batch moves the cursor and sets the fate of each record in its span")
    func isStored() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let stored = try fixture.writer.store(fixture.batch(try fixture.reader.walk(after: 0, limit: 6)))
            #expect(stored.sent.map(\.row) == [1, 4])
            #expect(try fixture.fates() == Self.stored + [IssueFate.Outcome](repeating: .pending, count: 6))
            let ledger = try fixture.reader.figures(viewer: .everything).ledgers[0].ledger
            #expect(ledger.pending == 8)
            #expect(ledger.withheld == 2)
            #expect(ledger.summarised == 2)
            #expect(
                try fixture.writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)[0]
                    .cursor
                    == 6)
            try expectSound(store)
        }
    }

    @Test("A batch sets the final fates of its records when it is settled, with attempts and response")
    func isSettled() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let stored = try fixture.writer.store(fixture.batch(try fixture.reader.walk(after: 0, limit: 9)))
            store.pass(.seconds(7))
            try fixture.writer.settle(
                fixture.settlement(stored, dead: [1: .refused], maybeDuplicate: true), destination: fixture.destination)
            let expected: [IssueFate.Outcome] = [
                .delivered, .withheld, .summarised, .deadLettered, .withheld, .summarised, .delivered,
            ]
            #expect(try fixture.fates().prefix(7) == expected[...])
            let fate = try fixture.reader.fates(of: fixture.ids[0].text, viewer: .everything)[0]
            #expect(
                fate
                    == IssueFate(
                        destination: "d", outcome: .delivered, attempts: 2, timestamp: store.wall, answer: "200 OK",
                        maybeDuplicate: true))
            let letters = try store.shell().table(
                "SELECT record, reason, answer, attempts, line FROM dead_letters", columns: 5)
            #expect(letters == [["4", "refused", "200 OK", "2", "line"]])
            #expect(try fixture.reader.unansweredBatch(of: fixture.destination) == nil)
            try expectSound(store)
        }
    }

    @Test("The fates of a group's newest records are counted at each destination")
    func areCounted() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, records: 0)
            let issue = IssueRecord(message: "Broken")
            let count = StoreReader.maxCountedFates + 5
            for _ in 0..<count / 5 { try store.store([IssueRecord](repeating: issue, count: 5), to: fixture.writer) }
            let reader = try store.reader()
            let newest = try reader.records(
                .init(filter: IssueFilter(), isAscending: false, limit: 1, after: nil), viewer: .everything
            ).records[0]
            func counted() throws -> [GroupFates] {
                try reader.show(newest.group, viewer: .everything, countsFates: true).groupFates
            }
            // Only the newest records are counted: the five oldest of these six are not among them.
            _ = try fixture.writer.store(fixture.batch(try reader.walk(after: 0, limit: 6)))
            var counts = Ledger()
            (counts.received, counts.pending, counts.summarised) = (1000, 999, 1)
            #expect(try counted() == [GroupFates(destination: "d", counts: counts)])
            _ = try fixture.writer.store(fixture.batch(try reader.walk(after: 6, limit: 6)))
            (counts.pending, counts.withheld, counts.summarised) = (995, 2, 3)
            #expect(try counted() == [GroupFates(destination: "d", counts: counts)])
            #expect(try reader.show(newest.id, viewer: .everything, countsFates: true).groupFates == [])
        }
    }

    @Test("Two batches that are merged are one unfinished batch, whose records are settled once")
    func isMerged() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let first = try fixture.writer.store(fixture.batch(try fixture.reader.walk(after: 0, limit: 6)))
            let second = try fixture.writer.store(fixture.batch(try fixture.reader.walk(after: 6, limit: 6)))
            let both = first.merged(
                with: second, order: MergedLines(summaries: (0, 0), first.sent.map(\.row), second.sent.map(\.row)))
            var state = DestinationRow.State()
            state.unacknowledged = [first.id: LineSet(), second.id: LineSet()]
            let merged = try #require(
                try fixture.writer.merge(
                    [first.id, second.id], into: both, unacknowledged: LineSet([1..<2]),
                    destination: fixture.destination, state, at: store.wall))
            #expect(try fixture.fates() == Self.stored + Self.stored)
            let found = try #require(try fixture.reader.unansweredBatch(of: fixture.destination))
            #expect(found.id == merged.id && found.sent == both.sent)
            #expect(try fixture.reader.unansweredBatch(of: fixture.destination, after: found.id) == nil)
            let kept = try #require(try fixture.reader.destination(fixture.destination))
            #expect(kept.state.unacknowledged == [merged.id: LineSet([1..<2])])
            try expectSound(store)
            try fixture.writer.settle(
                fixture.settlement(merged, dead: [1: .refused]), destination: fixture.destination)
            let fates = try fixture.fates()
            #expect(fates.count { $0 == .delivered } == 3 && fates.count { $0 == .deadLettered } == 1)
            #expect(try fixture.reader.unansweredBatch(of: fixture.destination) == nil)
            try expectSound(store)
        }
    }

    @Test("Each sent record of a batch shows the response to its own line: acceptance, refusal, or the last response")
    func isSettledInPart() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let stored = try fixture.writer.store(fixture.batch(try fixture.reader.walk(after: 0, limit: 9)))
            var settlement = fixture.settlement(stored, dead: [1: .refused, 2: .retriesExpired])
            settlement.refusal = "400: malformed"
            settlement.state.lastAnswer = "503"
            try fixture.writer.settle(settlement, destination: fixture.destination)
            func answer(_ index: Int) throws -> String? {
                try fixture.reader.fates(of: fixture.ids[index].text, viewer: .everything)[0].answer
            }
            #expect(try [0, 3, 6].map(answer) == ["200 OK", "400: malformed", "503"])
        }
    }

    @Test("A batch shows the number of attempts and the last response while it is in flight")
    func isTried() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            _ = try fixture.writer.store(fixture.batch(try fixture.reader.walk(after: 0, limit: 9)))
            func fate(_ index: Int) throws -> IssueFate {
                try fixture.reader.fates(of: fixture.ids[index].text, viewer: .everything)[0]
            }
            #expect(try fate(0).attempts == 0)
            var state = DestinationRow.State()
            state.batchAttempts = 72
            state.lastAnswer = "No connection"
            try fixture.writer.save(state, destination: fixture.destination)
            #expect(try fate(0).attempts == 72)
            #expect(try fate(0).answer == "No connection")
            // A record that is in no batch has no attempts.
            #expect(try fate(11).attempts == 0)
            #expect(try fate(11).answer == nil)
        }
    }

    @Test("The state that decides what is reported about a destination is stored")
    func isReported() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            var state = DestinationRow.State()
            state.watch.paused(since: store.wall)
            for count in [1, 7] as [Int64] {
                _ = state.watch.deadLettersStored(count, at: store.wall.advanced(by: .seconds(count)))
                try fixture.writer.save(state, destination: fixture.destination)
                #expect(try fixture.reader.destination(fixture.destination)?.state.watch == state.watch)
            }
            #expect(state.watch.unreportedDeadLetters == 7)
        }
    }

    @Test("A batch that is settled in part leaves its other lines as a new batch with the same notes")
    func isLeft() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let stored = try fixture.writer.store(fixture.batch(try fixture.reader.walk(after: 0, limit: 12)))
            #expect(stored.sent.map(\.row) == [1, 4, 7, 10])
            var settlement = fixture.settlement(stored, dead: [2: .refused])
            settlement.outcome.unfinished = LineSet([1..<2, 3..<4])
            settlement.unacknowledgedOfRest = LineSet([1..<2])
            let rest = try #require(try fixture.writer.settle(settlement, destination: fixture.destination))
            #expect(rest.sent == [stored.sent[1], stored.sent[3]])
            #expect(try fixture.reader.unansweredBatch(of: fixture.destination) == rest)
            #expect(try fixture.reader.unansweredBatch(of: fixture.destination, after: rest.id) == nil)
            #expect(
                try fixture.reader.destination(fixture.destination)?.state.unacknowledged == [rest.id: LineSet([1..<2])]
            )
            var fates = try fixture.fates()
            #expect([fates[0], fates[3], fates[6], fates[9]] == [.delivered, .pending, .deadLettered, .pending])
            try expectSound(store)
            // One of the unfinished records is erased in the meantime.
            _ = try fixture.writer.erase([4])
            try expectSound(store)
            #expect(
                try fixture.writer.settle(
                    fixture.settlement(rest, maybeDuplicate: true), destination: fixture.destination)
                    == nil)
            fates = try [0, 6, 9].map {
                try fixture.reader.fates(of: fixture.ids[$0].text, viewer: .everything)[0].outcome
            }
            #expect(fates == [.delivered, .deadLettered, .delivered])
            #expect(try fixture.reader.fates(of: fixture.ids[9].text, viewer: .everything)[0].maybeDuplicate)
            #expect(try !fixture.reader.fates(of: fixture.ids[0].text, viewer: .everything)[0].maybeDuplicate)
            try expectSound(store)
        }
    }

    @Test("A batch without a response is found after a restart, with the same records and notes")
    func isFoundAgain() throws {
        try TemporaryStore.with { store in
            let stored: StoredBatch
            let destination: Int64
            do {
                let fixture = try Fixture(store)
                stored = try fixture.writer.store(fixture.batch(try fixture.reader.walk(after: 0, limit: 12)))
                destination = fixture.destination
                #expect(stored.sent.count == 4)
            }
            let found = try #require(try store.reader().unansweredBatch(of: destination))
            #expect(found == stored)
            let writer = try store.writer()
            _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
            let outcome = BatchOutcome(delivered: [0..<4], dead: [], possibleDuplicates: 1)
            try writer.settle(
                BatchSettlement(
                    batch: found, outcome: outcome, attempts: 1, answer: nil, deadLines: [:], at: store.wall,
                    state: DestinationRow.State()), destination: destination)
            #expect(try store.reader().unansweredBatch(of: destination) == nil)
            // The notes about its lines are removed because the lines are not rebuilt again.
            let kept = try store.shell().table("SELECT json_type(notes, '$.sent') IS NULL FROM batches", columns: 1)
            #expect(kept == [["1"]])
            try expectSound(store)
        }
    }

    @Test("A batch without lines is settled when it is stored")
    func isEmpty() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            var batch = fixture.batch(try fixture.reader.walk(after: 0, limit: 12))
            batch.withheld += batch.sent.map(\.row)
            batch.withheld.sort()
            batch.withheldTally += batch.sent.map { .init(account: $0.account, records: 1, occurrences: $0.count) }
            batch.sent = []
            _ = try fixture.writer.store(batch)
            #expect(try fixture.reader.unansweredBatch(of: fixture.destination) == nil)
            try expectSound(store)
        }
    }

    @Test("After several batches, each record has the fate from its own batch, also in the ledger and in filters")
    func followsOn() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 10
            let fixture = try Fixture(store, records: 60)
            var cursor: RowID = 0
            var number = 0
            while true {
                let walked = try fixture.reader.walk(after: cursor, limit: 7)
                guard let last = walked.last?.candidate.record else { break }
                let stored = try fixture.writer.store(fixture.batch(walked))
                number += 1
                if !number.isMultiple(of: 4) {
                    let dead: [Int: DeadLetterReason] = number.isMultiple(of: 3) ? [0: .tooLarge] : [:]
                    try fixture.writer.settle(fixture.settlement(stored, dead: dead), destination: fixture.destination)
                }
                try expectSound(store)
                cursor = last
            }
            #expect(cursor == 60)
            let fates = try fixture.fates()
            let ledger = try fixture.reader.figures(viewer: .everything).ledgers[0].ledger
            for fate in IssueFate.Outcome.allCases { #expect(ledger[fate] == Int64(fates.count { $0 == fate })) }
            #expect(ledger.deadLettered > 0)
            var filter = IssueFilter()
            filter.outcomes = [.deadLettered, .summarised]
            filter.destination = "d"
            #expect(
                try fixture.reader.allRecords(filter).count == fates.count { $0 == .deadLettered || $0 == .summarised })
            filter.destination = "other"
            let unknown = QueryFailure.invalidFilter(
                field: "destination", reason: #"there is no destination "other"; known: d"#)
            #expect(throws: unknown) { try fixture.reader.allRecords(filter) }
        }
    }

    @Test("A batch sends summaries byte for byte, and a summary that fails makes its records dead letters")
    func carriesSummaries() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let batch = fixture.batch(try fixture.reader.walk(after: 0, limit: 12))
            _ = try fixture.writer.settle(
                fixture.settlement(try fixture.writer.store(batch)), destination: fixture.destination)
            let lines = [Array("{\"a\":1}".utf8), Array("é🔥".utf8)]
            let summaries = zip(batch.summarised, lines).enumerated().map { number, pair in
                StoreWriter.NewSummary(draft: Self.draft(pair.0, sequence: Int64(number + 1)), line: pair.1)
            }
            try fixture.writer.store(
                summaries, changes: AdmissionChanges(), destination: fixture.destination, at: store.wall)
            let ids = try fixture.reader.unsentSummaries(of: fixture.destination, limit: 10)
            #expect(ids.count == 2)
            #expect(try ids.map { try fixture.reader.line(ofSummary: $0) } == lines)
            #expect(try fixture.reader.unsentSummaries(of: fixture.destination, limit: 1) == [ids[0]])
            #expect(try fixture.reader.backlog(of: fixture.destination, after: 12).unsentSummaries == 2)

            var carrying = NewBatch(destination: fixture.destination, at: store.wall)
            carrying.summaries = ids
            let stored = try fixture.writer.store(carrying)
            #expect(try fixture.reader.unansweredBatch(of: fixture.destination) == stored)
            try fixture.writer.settle(
                fixture.settlement(stored, dead: [1: .retriesExpired]), destination: fixture.destination)
            #expect(try fixture.reader.unsentSummaries(of: fixture.destination, limit: 10).isEmpty)
            let ledger = try fixture.reader.figures(viewer: .everything).ledgers[0].ledger
            #expect(ledger.deadLettered == 1)
            #expect(ledger.summarised == 3)
            try expectSound(store)
            // A batch of summaries spans no rows, so it does not affect the fate of later records.
            let later = try store.store([IssueRecord(message: "later")], to: fixture.writer)
            #expect(try fixture.reader.fates(of: later[0].text, viewer: .everything)[0].outcome == .pending)
        }
    }

    private static func draft(_ tally: NewBatch.Tally, sequence: Int64) -> SummaryDraft {
        let at = RecordLogInstant(milliseconds: 1)
        return SummaryDraft(
            group: 1, account: tally.account, reason: .groupRate, windowStart: at, windowEnd: at,
            suppressedCount: tally.records, suppressedOccurrences: tally.occurrences, forwardedCount: 0,
            occurrences: tally.occurrences, summarySequence: sequence, firstSeen: at, lastSeen: at, samples: [],
            maxSeverity: .error, stillSuppressing: false, distinctGroups: 1)
    }

    @Test("A batch removes the priority of its records once every destination has scanned them")
    func endsExpress() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let rows = try writer.configure(
                ["a", "b"].map { .init(name: $0, kind: "k", takesBacklog: false) }, at: store.wall)
            try store.store((0..<3).map { _ in IssueRecord(message: "m", severity: .critical) }, to: writer)
            func priority() throws -> [Int64] { try store.shell().numbers("SELECT record FROM express ORDER BY 1") }
            #expect(try priority() == [1, 2, 3])
            func take(_ last: RowID, for destination: Int64) throws {
                let walked = try store.reader().walk(after: 0, limit: Int(last.rawValue))
                var batch = NewBatch(destination: destination, at: store.wall)
                batch.span = 1...last
                batch.withheld = walked.map(\.candidate.record)
                batch.withheldTally = walked.map { .init(account: $0.candidate.account, records: 1, occurrences: 1) }
                _ = try writer.store(batch)
            }
            try take(2, for: rows[0].id)
            #expect(try priority() == [1, 2, 3])
            try take(1, for: rows[1].id)
            #expect(try priority() == [2, 3])
            try expectSound(store)
        }
    }

    @Test("The first batch with a field fixes the type of this field, which is read again after a restart")
    func fixesTypes() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            var batch = fixture.batch(try fixture.reader.walk(after: 0, limit: 3))
            batch.fieldTypes = ["a.b": .integer, "é": .object, "": .bool]
            _ = try fixture.writer.store(batch)
            batch = fixture.batch(try fixture.reader.walk(after: 3, limit: 3))
            batch.fieldTypes = ["a.b": .string, "new": .number]
            _ = try fixture.writer.store(batch)
            let known: [String: FieldTypes.Kind] = ["a.b": .integer, "é": .object, "": .bool, "new": .number]
            #expect(try store.reader().fieldTypes(of: fixture.destination) == FieldTypes(known))
            #expect(try store.reader().fieldTypes(of: fixture.destination + 1) == FieldTypes())
        }
    }
}
