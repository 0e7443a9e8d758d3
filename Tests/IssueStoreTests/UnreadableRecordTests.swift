import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("Forwarding of records in damaged blocks")
struct UnreadableRecordTests {
    /// A store with a destination, and a reader that scans for it.
    private final class Fixture {
        let store: TemporaryStore
        var writer: StoreWriter
        var reader: StoreReader
        private(set) var destination: Int64 = 0

        init(_ store: TemporaryStore, rangeRecords: Int = 20, blockRecords: Int = 10) throws {
            self.store = store
            store.settings.rangeRecords = rangeRecords
            store.settings.blockRecords = blockRecords
            writer = try store.writer()
            reader = try store.reader()
            try configure()
        }

        func configure(isActive: Bool = true) throws {
            let configured = [StoreWriter.ConfiguredDestination(name: "d", kind: "k", takesBacklog: false)]
            let rows = try writer.configure(isActive ? configured : [], at: store.wall)
            destination = rows.first?.id ?? destination
        }

        /// Stores calls of ten records each, with two applications and three occurrences per record.
        func report(calls: Int) throws {
            for _ in 0..<calls {
                let records = (0..<10).map {
                    IssueRecord(message: "m", count: 3, app: Application(name: $0 % 2 == 0 ? "a" : "b"))
                }
                try store.store(records, to: writer)
            }
        }

        /// Damages the block that begins with a row.
        func damage(_ row: Int64) throws {
            let shell = try store.shell()
            try #require(try shell.number("SELECT count(*) FROM blocks WHERE first_id = \(row)") == 1)
            try shell.execute(composedSQL: "UPDATE blocks SET checksum = checksum + 1 WHERE first_id = \(row)")
            // A connection that has read the block before may have cached it, so another one is opened.
            reader = try store.reader()
        }

        func restart() throws {
            writer = try store.writer()
            reader = try store.reader()
        }

        /// Returns a batch that sends all of the next records; nil if there are none.
        func nextBatch(_ limit: Int = 7) throws -> NewBatch? {
            var batch = try reader.nextBatch(limit, for: destination, at: store.wall)
            guard !batch.sent.isEmpty, let span = batch.span else { return nil }
            batch.unreadable = reader.blocks.unreadable(in: span)
            return batch
        }

        /// Stores a batch of twelve records, damages the block of the last two, and restarts.
        func damagedInFlight() throws -> (batch: NewBatch, found: StoredBatch) {
            try report(calls: 4)
            let batch = try #require(try nextBatch(12))
            _ = try writer.store(batch)
            try damage(11)
            try restart()
            try configure()
            return (batch, try #require(try reader.unansweredBatch(of: destination)))
        }

        func settle(
            _ batch: StoredBatch, dead: Bool = false, left: Set<Int> = [], undecided: Range<Int>? = nil
        ) throws {
            var settlement = BatchSettlement(of: batch, dead: dead ? Array(batch.sent.indices) : [], at: store.wall)
            settlement.unsendable = left
            if let undecided { settlement.outcome.unfinished = LineSet([undecided]) }
            try writer.settle(settlement, destination: destination)
        }

        /// Sends all further records.
        func sendAll(dead: Bool = false) throws {
            while let batch = try nextBatch() { try settle(try writer.store(batch), dead: dead) }
        }

        var ledger: Ledger { get throws { try reader.figures(viewer: .everything).ledgers[0].ledger } }

        func expectBalance(sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
            let shell = try store.shell()
            #expect(try shell.table("SELECT * FROM ledger_check", columns: 2) == [], sourceLocation: sourceLocation)
            let left = try shell.number(
                "SELECT count(*) FROM ledger WHERE destination > 0 AND fate = 0 AND records = 0 AND occurrences <> 0")
            #expect(left == 0, sourceLocation: sourceLocation)
        }
    }

    @Test(
        "A block with a wrong last id loses its own records only, even when its range is removed",
        arguments: [45, 25, 15, 5, -1])
    func wrongLastID(last: Int64) throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 6)
            try store.shell().execute(composedSQL: "UPDATE blocks SET last_id = \(last) WHERE first_id = 11")
            try fixture.restart()
            func rows() throws -> [Int64] {
                var (rows, last): ([Int64], RowID) = ([], 0)
                while let next = try fixture.reader.walk(after: last, limit: 7).map(\.candidate.record).last {
                    try #require(next > last)
                    rows += try fixture.reader.walk(after: last, limit: 7).map(\.candidate.record.rawValue)
                    last = next
                }
                return rows
            }
            #expect(try rows() == Array(1...10) + Array(21...60))
            if last >= 11 { #expect(fixture.reader.blocks.unreadable(in: 1...60).map(\.lowerBound) == [11]) }
            try fixture.configure(isActive: false)
            let range = RetentionSnapshot.ClosedRange(
                id: 1, firstID: 1, lastID: 20, newest: RecordLogInstant(milliseconds: 0), hasBatchInFlight: false)
            var steps = 0
            while try !fixture.writer.forget(range).isDone {
                steps += 1
                try #require(steps < 100, "The range cannot be removed")
            }
            try fixture.restart()
            #expect(try rows() == Array(21...60))
        }
    }

    @Test("Corrupt numbers of records in blocks prevent neither counting the records nor removing the range")
    func wrongCounts() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 4)
            try store.shell().execute("UPDATE blocks SET records = 9223372036854775807")
            try fixture.restart()
            #expect(try StoreReader.recordCount(on: store.shell()) == 40)
            try store.shell().execute("DELETE FROM ranges WHERE first_id > 20")
            #expect(try StoreReader.recordCount(on: store.shell()) == 20 + 2 * Int64(BlockFormat.maxRecords))
            let range = RetentionSnapshot.ClosedRange(
                id: 1, firstID: 1, lastID: 20, newest: RecordLogInstant(milliseconds: 0), hasBatchInFlight: false)
            #expect(try (0..<100).contains { _ in try fixture.writer.forget(range).isDone })
            #expect(try store.shell().numbers("SELECT first_id FROM blocks") == [21, 31])
        }
    }

    @Test("A damaged block in no posting list is found even if its last id covers a damaged block in a posting list")
    func unlistedWrongLastID() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 1)
            try fixture.damage(1)
            try fixture.restart()
            // The range is closed.
            try fixture.report(calls: 1)
            #expect(try store.shell().number("SELECT sum(records) FROM postings") == 10)
            try fixture.damage(11)
            try store.shell().execute("UPDATE blocks SET last_id = 20 WHERE first_id = 1")
            for first: RowID in [1, 11] {
                #expect(try fixture.writer.note(DamagedBlock(rows: first...(first + 9), records: 10)))
            }
            let found = try #require(try store.reader().unlistedDamagedBlocks(above: .min))
            #expect(found.blocks == [DamagedBlock(rows: 1...10, records: 10)])
        }
    }

    @Test("A damaged block is noted once, and remembered until it is removed or readable again")
    func remembered() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 6)
            try fixture.damage(11)
            try fixture.damage(31)
            let first = DamagedBlock(rows: 11...20, records: 10)
            #expect(try fixture.writer.note(first))
            #expect(try fixture.writer.note(DamagedBlock(rows: 31...40, records: 10)))
            #expect(try !fixture.writer.note(first))
            // As for a block that was removed in the meantime: no block begins with this row.
            #expect(try !fixture.writer.note(DamagedBlock(rows: 12...20, records: 10)))
            try fixture.restart()
            try fixture.writer.recheckDamagedBlocks()
            #expect(try fixture.reader.figures(viewer: .everything).damagedRecords == 20)
            #expect(try fixture.reader.figures(viewer: .user(1000)).damagedRecords == 0)
            try store.shell().execute("UPDATE blocks SET checksum = checksum - 1 WHERE first_id = 31")
            try fixture.writer.recheckDamagedBlocks()
            #expect(try fixture.reader.figures(viewer: .everything).damagedRecords == 10)
            try store.forgetAll(fixture.writer)
            #expect(try fixture.reader.figures(viewer: .everything).damagedRecords == 0)
            try fixture.writer.recheckDamagedBlocks()
            #expect(try store.shell().number("SELECT count(*) FROM damaged_blocks") == 0)
        }
    }

    @Test(
        "Queries say which records they leave out, and a record of a damaged block is distinguished from an unknown one"
    )
    func queries() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 6)
            let reader = fixture.reader
            let ids = try reader.allRecords().map(\.id)
            try fixture.damage(11)
            func page(_ isAscending: Bool, _ limit: Int, _ after: String? = nil) throws -> StoreReader.RecordPage {
                try fixture.reader.records(
                    .init(filter: .init(), isAscending: isAscending, limit: limit, after: after), viewer: .everything)
            }
            for isAscending in [true, false] {
                let whole = try page(isAscending, 60)
                #expect(whole.records.count == 50)
                #expect(whole.unreadable == 10)
                // Each page counts the records of the damaged blocks that it has passed.
                var next: String?
                var unreadable: Int64 = 0
                repeat {
                    let part = try page(isAscending, 5, next)
                    unreadable += part.unreadable
                    next = part.next
                } while next != nil
                #expect(unreadable == 10)
                #expect(try page(isAscending, 5).unreadable == 0)
            }
            #expect(throws: QueryFailure.unreadable(id: ids[12])) {
                _ = try fixture.reader.show(ids[12], viewer: .everything)
            }
            #expect(throws: QueryFailure.unreadable(id: ids[12])) {
                _ = try fixture.reader.fates(of: ids[12], viewer: .everything)
            }
            #expect(try fixture.reader.show(ids[22], viewer: .everything).record?.id == ids[22])
            // Only users who may see the record learn that it is unreadable.
            #expect(throws: QueryFailure.unreadable(id: ids[12])) {
                _ = try fixture.reader.show(ids[12], viewer: .user(1000))
            }
            #expect(throws: QueryFailure.notFound(id: ids[12])) {
                _ = try fixture.reader.show(ids[12], viewer: .user(1001))
            }
            let unknown = String(ids[0].dropLast()) + "zz"
            #expect(throws: QueryFailure.notFound(id: unknown)) {
                _ = try fixture.reader.show(unknown, viewer: .everything)
            }
            // A reader that has read the block does not take a removed record for an unreadable one.
            try store.shell().execute("DELETE FROM blocks WHERE first_id = 11")
            #expect(throws: QueryFailure.notFound(id: ids[12])) {
                _ = try fixture.reader.show(ids[12], viewer: .everything)
            }
        }
    }

    @Test("A purge names the damaged blocks that may have matching records, and no others")
    func purge() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 6)
            try store.store([IssueRecord(message: "m", app: Application(name: "c"))], to: fixture.writer)
            try fixture.writer.closeOpenRange()
            try fixture.damage(11)
            func found(_ change: (inout IssueFilter) -> Void) throws -> StoreReader.MatchingRows {
                var filter = IssueFilter()
                change(&filter)
                return try store.reader().rows(filter, above: 0, through: 100, limit: 100)
            }
            let own = try found { $0.apps = ["a"] }
            #expect(own.rows.count == 25)
            #expect(own.damaged == [11: DamagedBlock(rows: 11...20, records: 10)])
            let others = try found { $0.apps = ["c"] }
            #expect(others.rows == [61])
            #expect(others.damaged == [:])
            let text = try found { $0.text = "m" }
            #expect(text.rows.count == 51)
            #expect(text.damaged == own.damaged)
        }
    }

    @Test("If a block of the open range is damaged, each purge lists the block, and what its records refer to is kept")
    func damagedOpenRange() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, rangeRecords: 1000)
            try fixture.report(calls: 1)
            try store.store(
                (0..<10).map { _ in IssueRecord(message: "m", app: Application(name: "z")) }, from: .of(uid: 7),
                to: fixture.writer)
            try fixture.report(calls: 3)
            try fixture.damage(11)
            // The writer reads the open range at the start.
            try fixture.restart()
            for block in fixture.writer.blocks.reader.damagedBlocks { _ = try fixture.writer.note(block) }
            try fixture.writer.closeOpenRange()
            #expect(try store.shell().number("SELECT records FROM ranges") == 50)
            var filter = IssueFilter()
            filter.apps = ["a"]
            let reader = try store.reader()
            #expect(try reader.rows(filter, above: 0, through: 100, limit: 100).damaged == [:])
            let found = try #require(try reader.unlistedDamagedBlocks(above: .min))
            #expect(found.blocks == [DamagedBlock(rows: 11...20, records: 10)])
            #expect(try reader.unlistedDamagedBlocks(above: found.last) == nil)

            let shell = try store.shell()
            let rows = "SELECT (SELECT count(*) FROM series) + (SELECT count(*) FROM processes)"
            let before = try shell.number(rows)
            try fixture.writer.collect(
                series: shell.numbers("SELECT id FROM series").map { SeriesID($0) }, seenThrough: 50)
            try fixture.writer.collect(
                processes: shell.numbers("SELECT id FROM processes").map { ProcessRowID($0) }, seenThrough: 50)
            #expect(try fixture.writer.collectSeries(of: [7, 1000], above: 0).removed == 0)
            while try fixture.writer.collectOwners() {}
            #expect(try shell.number(rows) == before)
            try shell.execute("UPDATE blocks SET checksum = checksum - 1 WHERE first_id = 11")
            let records = try store.reader().allRecords()
            #expect(records.count == 50)
            #expect(records[10].record.app?.name == "z" && records[10].sender.uid == 7)

            // Rows that were added after the damage are removed.
            for uid: UInt32 in [8, 9] {
                try store.store(
                    [IssueRecord(message: "m", app: Application(name: "n"))], from: .of(uid: uid), to: fixture.writer)
            }
            try fixture.restart()
            let old = try shell.number("SELECT max(last_process) FROM damaged_blocks")
            let kept = try fixture.writer.collect(
                processes: shell.numbers("SELECT id FROM processes").map { ProcessRowID($0) }, seenThrough: 100)
            #expect(Int64(kept) == old)
            #expect(try shell.number("SELECT max(id) FROM processes") == old + 2)
            #expect(try shell.number("SELECT count(*) FROM processes") == old + 1)
        }
    }

    @Test("Checking all blocks finds the damaged ones, in portions of any size", arguments: [1, 3, 100])
    func checking(limit: Int) throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 6)
            try fixture.damage(11)
            try fixture.damage(51)
            // A block whose first id is wrong overlaps the one before, or precedes all others.
            try store.shell().execute(
                "UPDATE blocks SET first_id = 29 WHERE first_id = 31; UPDATE blocks SET first_id = -5 WHERE first_id = 1"
            )
            var found: [DamagedBlock] = []
            fixture.reader.blocks.onDamagedBlock = { found.append($0) }
            var (unreadable, last): (Int64, RowID) = (0, .min)
            while let step = try fixture.reader.checkBlocks(above: last, limit: limit) {
                unreadable += step.unreadable
                last = step.last
            }
            #expect(unreadable == 40)
            #expect(found.map(\.rows.lowerBound) == [-5, 11, 29, 51])
        }
    }

    @Test("Records of a damaged block expire when the scan for a destination that was configured again passes them")
    func configuredAgain() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 2)
            try fixture.sendAll()
            try fixture.configure(isActive: false)
            try fixture.report(calls: 4)
            try fixture.damage(31)
            try fixture.restart()
            try fixture.configure()
            #expect(try fixture.ledger.received == 60)
            #expect(try fixture.ledger.pending == 40)
            try fixture.expectBalance()
            try fixture.sendAll()
            let ledger = try fixture.ledger
            #expect(ledger.pending == 0)
            #expect(ledger.expired == 10)
            #expect(ledger.delivered == 50)
            try fixture.expectBalance()
        }
    }

    @Test("Records of a damaged block in the open range expire when the scan passes them")
    func openRange() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, rangeRecords: 1000)
            try fixture.report(calls: 3)
            try fixture.damage(11)
            try fixture.sendAll()
            let ledger = try fixture.ledger
            #expect(ledger.pending == 0)
            #expect(ledger.expired == 10)
            #expect(ledger.delivered == 20)
            // If the time were set, `issuectl health` would blame the destination, or MaxAge= and MaxSize=.
            #expect(try fixture.reader.figures(viewer: .everything).ledgers[0].lastExpired == nil)
            try fixture.expectBalance()
            // They do not expire again.
            try fixture.restart()
            try fixture.configure()
            #expect(try fixture.ledger == ledger)
        }
    }

    @Test("Records of a damaged block in the open range expire at a start, since their accounts are then unknown")
    func openRangeAtStart() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, rangeRecords: 1000)
            try fixture.report(calls: 4)
            let inFlight = try #require(try fixture.nextBatch(5))
            _ = try fixture.writer.store(inFlight)
            try fixture.damage(21)
            for _ in 0..<2 {
                try fixture.restart()
                try fixture.configure()
                #expect(try fixture.ledger.pending == 30)
                #expect(try fixture.ledger.expired == 10)
                #expect(try fixture.reader.figures(viewer: .everything).ledgers[0].lastExpired == nil)
                try fixture.expectBalance()
            }
            try fixture.settle(try #require(try fixture.reader.unansweredBatch(of: fixture.destination)))
            try fixture.sendAll()
            #expect(try fixture.ledger.pending == 0)
            #expect(try fixture.ledger.expired == 10)
            #expect(try fixture.ledger.delivered == 30)
            try fixture.expectBalance()
        }
    }

    @Test("Records in flight whose block is damaged expire if the batch must be built again after a start")
    func inFlight() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let (batch, found) = try fixture.damagedInFlight()
            #expect(found.sent.map(\.row) == batch.sent.map(\.row))
            // The lines of the last two records can't be built.
            try fixture.settle(found, left: [10, 11])
            #expect(try fixture.ledger.delivered == 10)
            #expect(try fixture.ledger.expired == 2)
            try fixture.sendAll()
            #expect(try fixture.ledger.pending == 0)
            #expect(try fixture.ledger.expired == 10)
            #expect(try fixture.reader.figures(viewer: .everything).ledgers[0].lastExpired == nil)
            try fixture.expectBalance()
        }
    }

    @Test("If retention removes the block of unreadable records in flight, these expire only once")
    func removedInFlight() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let found = try fixture.damagedInFlight().found
            let snapshot = try fixture.writer.retentionSnapshot(
                freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
            let oldest = try #require(snapshot.oldest)
            while try !fixture.writer.forget(oldest).isDone {}
            let expired = try fixture.ledger.expired
            #expect(expired == 20)
            try fixture.settle(found, left: Set(0..<12))
            #expect(try fixture.ledger.expired == expired)
            try fixture.sendAll()
            #expect(try fixture.ledger.pending == 0)
            try fixture.expectBalance()
        }
    }

    @Test("A record in flight that can't be read expires, also if a restart interrupts the rest of its batch")
    func restInFlight() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let found = try fixture.damagedInFlight().found
            // A part was answered. The unreadable lines have no outcome yet.
            try fixture.settle(found, left: [10, 11], undecided: 8..<12)
            #expect(try fixture.ledger.delivered == 8)
            try fixture.restart()
            try fixture.configure()
            let rest = try #require(try fixture.reader.unansweredBatch(of: fixture.destination))
            #expect(rest.sent.map(\.row) == [9, 10, 11, 12])
            try fixture.settle(rest, left: [2, 3])
            #expect(try fixture.ledger.expired == 2)
            try fixture.sendAll()
            #expect(try fixture.ledger.pending == 0)
            try fixture.expectBalance()
        }
    }

    @Test("A requeued dead letter that can't be read expires, and does not keep others from being sent")
    func requeued() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 6)
            try fixture.sendAll(dead: true)
            let letters = try store.shell().numbers("SELECT id FROM dead_letters WHERE record IN (21, 22, 41)")
            #expect(try fixture.writer.requeue(letters) == 3)
            let id = fixture.destination
            #expect(try fixture.reader.backlog(of: id, after: 60).requeued == 3)
            try fixture.damage(21)
            #expect(try fixture.reader.requeued(for: id, limit: 1).map(\.candidate.record) == [41])
            #expect(try fixture.reader.backlog(of: id, after: 60).requeued == 1)
            try fixture.restart()
            #expect(try fixture.writer.expireUnreadableSingles() == 2)
            #expect(try fixture.writer.expireUnreadableSingles() == 0)
            #expect(try store.shell().numbers("SELECT record FROM singles") == [41])
            #expect(try fixture.ledger.pending == 1)
            #expect(try fixture.ledger.expired == 2)
            #expect(try fixture.ledger.deadLettered == 57)
            try fixture.expectBalance()
        }
    }

    @Test("Thinning leaves the requeued records of a damaged block pending in the ledger; they expire later")
    func thinnedRequeued() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 6)
            try fixture.sendAll(dead: true)
            let letters = try store.shell().numbers("SELECT id FROM dead_letters WHERE record IN (21, 22, 31)")
            #expect(try fixture.writer.requeue(letters) == 3)
            try fixture.damage(21)
            try fixture.restart()
            let range = RetentionSnapshot.ClosedRange(
                id: 2, firstID: 21, lastID: 40, newest: RecordLogInstant(milliseconds: 0), hasBatchInFlight: false)
            var thinning = try fixture.writer.planThinning(of: range, user: 1000)
            while try !fixture.writer.thin(&thinning).isDone {}
            #expect(try store.shell().numbers("SELECT first_id FROM blocks ORDER BY 1") == [1, 11, 21, 41, 51])
            #expect(try store.shell().numbers("SELECT record FROM singles ORDER BY 1") == [21, 22])
            #expect(try fixture.ledger.pending == 2)
            #expect(try fixture.writer.expireUnreadableSingles() == 2)
            #expect(try fixture.ledger.pending == 0)
            #expect(try fixture.ledger.expired == 3)
            try fixture.expectBalance()
        }
    }

    @Test("If an application's records are too old, those in a damaged block expire once, when they are scanned")
    func agedPending() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 6)
            try fixture.damage(11)
            store.settings.retention.applicationAges = [ApplicationAge(name: "a", maxAge: .seconds(10))]
            try fixture.restart()
            try fixture.configure()
            store.pass(.seconds(3600))
            let retention = Retention(settings: fixture.writer.retention)
            var removed: [RetentionSnapshot.ClosedRange] = []
            while case .expire(let aged) = retention.next(
                try fixture.writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic))
            {
                removed.append(aged.range)
                try #require(removed.count < 10, "The same range is chosen again and again")
                var thinning = try fixture.writer.planExpiry(of: aged)
                while try !fixture.writer.thin(&thinning).isDone {}
            }
            #expect(removed.map(\.id) == [1, 2, 3])
            // Five of the records of each call are of the application.
            #expect(try fixture.ledger.expired == 25)
            let usage = try fixture.reader.retentionUsage(retention.settings, freeBytes: nil, now: store.wall)
            #expect(usage.portions.map(\.app) == [nil, "a"])
            #expect(usage.portions.map(\.records) == [10, 0], "a removal of records that are kept is announced")
            try fixture.sendAll()
            #expect(try fixture.ledger.pending == 0)
            #expect(try fixture.ledger.expired == 35)
            #expect(try fixture.ledger.delivered == 25)
            try fixture.expectBalance()
        }
    }

    /// Performs the removals for lack of space that retention chooses, until it chooses something else.
    private func retain(_ fixture: Fixture, sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
        let retention = Retention(settings: fixture.writer.retention)
        for _ in 0..<50 {
            let snapshot = try fixture.writer.retentionSnapshot(
                freeBytes: nil, wall: fixture.store.wall, monotonic: fixture.store.monotonic)
            switch retention.next(snapshot) {
            case .thin(let holding, _), .trim(let holding, _, _):
                var thinning = try fixture.writer.planThinning(of: holding.range, user: holding.user)
                while try !fixture.writer.thin(&thinning).isDone {}
            case .forget(let range, _): while try !fixture.writer.forget(range).isDone {}
            case .expire, .countUnreferenced, .collect, .closeRange, .wait: return
            }
        }
        Issue.record("The same range is chosen again and again", sourceLocation: sourceLocation)
    }

    @Test("Retention for lack of space ends even if pending records in a damaged block can't be removed one by one")
    func pendingWithoutSpace() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            // Range 1 has records of another user, so that it is not removed as a whole.
            try store.store(
                [IssueRecord](repeating: IssueRecord(message: "quiet"), count: 10), from: .of(uid: 1001),
                to: fixture.writer)
            try fixture.report(calls: 1)
            // All later records are of other groups, so range 1 has the last records of its groups.
            for _ in 0..<4 {
                try store.store([IssueRecord](repeating: IssueRecord(message: "other"), count: 10), to: fixture.writer)
            }
            try fixture.damage(11)
            store.settings.retention.maxSize = 0
            try fixture.restart()
            try fixture.configure()
            try retain(fixture)
            #expect(try fixture.ledger.expired == 60)
            #expect(try fixture.ledger.pending == 0)
            try fixture.expectBalance()
        }
    }

    @Test("Retention for lack of space ends even if a damaged block has many series of a frequent group")
    func pendingSeries() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, rangeRecords: 60, blockRecords: 48)
            // The other group has one record with an empty text, so it takes less space than the many posting lists.
            let letters = Array("abcdefghij")
            let words = (0..<48).map { String([letters[$0 / 10], letters[$0 % 10], "x"]) }
            let many = words.map { IssueRecord(message: "failed \($0)", fingerprint: "many") }
            try store.store(many, to: fixture.writer)
            try store.store([IssueRecord(message: "")], to: fixture.writer)
            try store.store(
                [IssueRecord](repeating: IssueRecord(message: "quiet"), count: 11), from: .of(uid: 1001),
                to: fixture.writer)
            for _ in 0..<2 { try store.store(many, to: fixture.writer) }
            #expect(try store.shell().number("SELECT count(*) FROM series") > 40)
            try fixture.damage(1)
            store.settings.retention.maxSize = 0
            try fixture.restart()
            try fixture.configure()
            try retain(fixture)
            try fixture.sendAll()
            #expect(try fixture.ledger.pending == 0)
            try fixture.expectBalance()
        }
    }

    @Test("Thinning expires each record once if the last id of a damaged block is too high")
    func thinnedWrongLastID() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.report(calls: 6)
            try store.shell().execute("UPDATE blocks SET last_id = 45 WHERE first_id = 11")
            try fixture.restart()
            try fixture.configure()
            // The block is found to be damaged.
            _ = try fixture.writer.blocks.reader.isReadable(11)
            let range = RetentionSnapshot.ClosedRange(
                id: 2, firstID: 21, lastID: 40, newest: RecordLogInstant(milliseconds: 0), hasBatchInFlight: false)
            var thinning = try fixture.writer.planThinning(of: range, user: 1000)
            while try !fixture.writer.thin(&thinning).isDone {}
            #expect(try fixture.ledger.expired == 20)
            try fixture.sendAll()
            #expect(try fixture.ledger.expired == 30)
            #expect(try fixture.ledger.delivered == 30)
            #expect(try fixture.ledger.pending == 0)
            try fixture.expectBalance()
        }
    }
}
