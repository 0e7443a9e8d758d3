import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("Retention in the store")
struct RetentionTests {
    /// A store of small ranges of 20 records, some closed and one open, with a destination.
    private final class Fixture {
        let store: TemporaryStore
        var writer: StoreWriter
        let reader: StoreReader
        let destination: Int64
        var log = SentLog()

        init(_ store: TemporaryStore, calls: Int = 30, rangeRecords: Int = 20) throws {
            self.store = store
            store.settings.rangeRecords = rangeRecords
            store.settings.retention.maxSize = 1 << 40
            writer = try store.writer()
            destination = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)[0].id
            var samples = SampleRecords(seed: 5)
            for call in 0..<calls {
                let process = ReportingProcess.of(uid: call % 3 == 2 ? 1001 : 1000)
                try log.send(samples.records(5), from: process, to: writer, of: store)
            }
            reader = try store.reader()
        }

        func snapshot() throws -> RetentionSnapshot {
            try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
        }

        /// Removes at most `count` ranges, as long as the settings require it. Returns the reason and the number of
        /// expired records for each.
        func retain(atMost count: Int = .max) throws -> [(reason: Retention.Reason, expired: Int64)] {
            var gone: [(reason: Retention.Reason, expired: Int64)] = []
            while gone.count < count {
                let range: RetentionSnapshot.ClosedRange
                let reason: Retention.Reason
                switch Retention(settings: writer.retention).next(try snapshot()) {
                case .forget(let oldest, let why): (range, reason) = (oldest, why)
                case .thin(let holding, let why):
                    // With only one group, the range is removed as a whole.
                    #expect(try writer.planThinning(of: holding.range, user: holding.user).isWhole)
                    (range, reason) = (holding.range, why)
                case .trim:
                    Issue.record("only a part of a range is removed")
                    return gone
                case .closeRange, .wait, .expire, .countUnreferenced, .collect: return gone
                }
                var expired: Int64 = 0
                while true {
                    let progress = try writer.forget(range)
                    expired += progress.expired
                    if progress.isDone { break }
                }
                gone.append((reason, expired))
            }
            return gone
        }

        func set(_ change: (inout RetentionSettings) -> Void) {
            change(&store.settings.retention)
            writer.reload(LimitSettings(), store.settings.retention)
        }

        var ledger: Ledger { get throws { try reader.figures(viewer: .everything).ledgers[0].ledger } }

        /// Returns a batch that sends all of the next `limit` records.
        func batch(_ limit: Int) throws -> NewBatch {
            try reader.nextBatch(limit, for: destination, at: store.wall)
        }

        func settle(_ batch: StoredBatch) throws {
            try writer.settle(BatchSettlement(of: batch, at: store.wall), destination: destination)
        }

        /// Checks that the remaining records are complete, that sums have not changed, and that the ledger balances.
        func expectSound(from first: RowID, sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
            let left = log.entries.filter { $0.row >= first }
            for isAscending in [true, false] {
                let rows = isAscending ? left.map(\.id) : left.reversed().map(\.id)
                let found = try reader.allRecords(isAscending: isAscending).map(\.id)
                #expect(found == rows, sourceLocation: sourceLocation)
                var filter = IssueFilter()
                filter.level = .error
                let severe = try reader.allRecords(filter, isAscending: isAscending).map(\.id)
                let expected = Set(log.matching(filter, .everything).filter { $0.row >= first }.map(\.id))
                #expect(severe == rows.filter { expected.contains($0) }, sourceLocation: sourceLocation)
            }
            let groups = try reader.groups(.all, viewer: .everything).groups
            #expect(groups.map(\.records).reduce(0, +) == Int64(log.entries.count), sourceLocation: sourceLocation)
            let ids = Set(left.map(\.id))
            for group in groups {
                if let newest = group.newestRecord { #expect(ids.contains(newest), sourceLocation: sourceLocation) }
                _ = try reader.show(group.id, viewer: .everything)
            }
            let status = try reader.figures(viewer: .everything).store
            #expect(status.records == Int64(left.count), sourceLocation: sourceLocation)
            #expect(try ledger.received == Int64(log.entries.count), sourceLocation: sourceLocation)
            #expect(
                try store.shell().number("SELECT sum(records) FROM series_totals") == Int64(log.entries.count),
                sourceLocation: sourceLocation)
            try RetentionAudit(store, destination: destination).expectBalance(
                total: log.entries.count, sourceLocation: sourceLocation)
        }
    }

    @Test("Retention removes old records range by range; pending ones expire, and all counts stay")
    func age() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            // One call per second, 30 in total and four per range: the first three ranges end at least 18 s before the
            // last call.
            fixture.set { $0.maxAge = .seconds(18) }
            let gone = try fixture.retain()
            #expect(gone.map(\.reason) == [.age, .age, .age])
            #expect(gone.map(\.expired) == [20, 20, 20])
            #expect(try fixture.ledger.expired == 60)
            #expect(try fixture.reader.destination(fixture.destination)?.cursor == 60)
            try fixture.expectSound(from: 61)
            #expect(throws: QueryFailure.self) {
                try fixture.reader.show(fixture.log.entries[0].id, viewer: .everything)
            }
        }
    }

    @Test("Settling a batch keeps the time at which pending records expired; only those who see all records see it")
    func lastExpired() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            func lastExpired(_ viewer: Viewer = .everything) throws -> IssueTimestamp? {
                try fixture.reader.figures(viewer: viewer).ledgers[0].lastExpired
            }
            #expect(try lastExpired() == nil)
            let sent = try fixture.writer.store(fixture.batch(3))
            try fixture.settle(sent)
            #expect(try lastExpired() == nil)
            fixture.set { $0.maxAge = .seconds(18) }
            #expect(try fixture.retain(atMost: 1).map(\.expired) == [17])
            let found = try #require(try lastExpired())
            // The clock of the system, not that of the test.
            #expect(found.millisecondsSince1970 > 1_700_000_000_000)
            let next = try fixture.writer.store(fixture.batch(3))
            try fixture.settle(next)
            #expect(try lastExpired() == found)
            #expect(try lastExpired(.user(1000)) == nil)
            // A state that is no JSON is replaced.
            try store.shell().execute(composedSQL: "UPDATE destinations SET state = 'x'")
            #expect(try lastExpired() == nil)
            #expect(try fixture.retain(atMost: 1).map(\.expired) == [17])
            #expect(try lastExpired() != nil)
        }
    }

    @Test("A wrong wall clock makes no record old")
    func wrongClock() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            fixture.set { $0.maxAge = .seconds(3600) }
            store.wall = store.wall.advanced(by: .seconds(400 * 86_400))
            #expect(try fixture.retain().isEmpty)
            try store.store([IssueRecord(message: "later")], to: fixture.writer)
            #expect(try fixture.retain().isEmpty)
            fixture.writer = try store.writer()
            store.wall = store.wall.advanced(by: .seconds(-800 * 86_400))
            #expect(try fixture.retain().isEmpty)
            store.wall = store.wall.advanced(by: .seconds(3601))
            store.monotonic = store.monotonic.advanced(by: .seconds(3601))
            try store.store([IssueRecord(message: "much later")], to: fixture.writer)
            store.pass(.seconds(3601))
            #expect(try fixture.retain().count == 7)
        }
    }

    @Test("Retention removes the oldest records above the size limit, and the file shrinks")
    func size() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, calls: 0)
            var samples = SampleRecords(seed: 8)
            var record = IssueRecord(message: "m")
            for _ in 0..<80 {
                record.metadata = ["x": .string(samples.noise(20_000))]
                try fixture.log.send([record], to: fixture.writer, of: store)
            }
            let before = try fixture.snapshot().usedBytes
            fixture.set { $0.maxSize = before - (600 << 10) }
            let gone = try fixture.retain()
            #expect(gone.map(\.reason) == [.size, .size])
            try fixture.expectSound(from: 41)
            while try fixture.writer.shrink(pages: 7) > 0 {}
            try fixture.writer.checkpoint()
            let after = try fixture.snapshot()
            #expect(after.spareBytes == 0)
            #expect(after.usedBytes < before - (600 << 10))
            #expect(try store.shell().table("PRAGMA integrity_check", columns: 1) == [["ok"]])
        }
    }

    @Test("The store assigns no id again after all records are gone, even after the store is reopened")
    func idsStay() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, calls: 4)
            fixture.set { $0.maxAge = .zero }
            #expect(try fixture.retain().count == 1)
            #expect(try fixture.snapshot().oldest == nil)
            try fixture.expectSound(from: 21)
            let code = try fixture.reader.figures(viewer: .everything).store.id
            fixture.writer = try store.writer()
            _ = try fixture.writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
            #expect(fixture.writer.nextID == 21)
            #expect(fixture.writer.memory.values.rangeID == 2)
            var samples = SampleRecords(seed: 6)
            for _ in 0..<5 { try fixture.log.send(samples.records(5), to: fixture.writer, of: store) }
            #expect(fixture.log.entries.map(\.row) == Array(1...45))
            try fixture.expectSound(from: 21)
            #expect(try fixture.reader.figures(viewer: .everything).store.id == code)
            #expect(try fixture.retain().count == 1)
            try fixture.expectSound(from: 41)
            #expect(try store.shell().numbers("SELECT id FROM ranges") == [2])
        }
    }

    @Test("Queries find the remaining records of a partly removed range, even after the store is reopened")
    func halfForgotten() throws {
        try TemporaryStore.with { store in
            store.settings.blockRecords = 1
            let fixture = try Fixture(store, rangeRecords: 50)
            fixture.set { $0.maxAge = .seconds(15) }
            guard
                case .forget(let range, .age) = Retention(settings: fixture.writer.retention).next(
                    try fixture.snapshot())
            else {
                Issue.record("nothing is old")
                return
            }
            // A slice has at most 32 blocks, here of one record each.
            #expect(try fixture.writer.forget(range) == ExpiryProgress(records: 32, expired: 32, isDone: false))
            try fixture.expectSound(from: 33)
            fixture.writer = try store.writer()
            try fixture.expectSound(from: 33)
            #expect(try fixture.retain().map(\.expired).reduce(0, +) == 18)
            #expect(try fixture.ledger.expired == 50)
            try fixture.expectSound(from: 51)
        }
    }

    @Test("Retention keeps a range longer while a batch of it is in flight; a settled batch is removed with it")
    func batches() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let stored = try fixture.writer.store(try fixture.batch(10))
            fixture.set { $0.maxAge = .seconds(18) }
            #expect(try fixture.retain().isEmpty)
            try fixture.settle(stored)
            let open = try fixture.writer.store(try fixture.batch(200))
            #expect(open.sent.map(\.row) == Array(11...20))
            try fixture.settle(open)
            _ = try fixture.writer.store(try fixture.batch(200))
            #expect(try fixture.retain().map(\.expired) == [0])
            #expect(try fixture.ledger.delivered == 20)
            #expect(try store.shell().numbers("SELECT last_id FROM batches") == [40])
            try fixture.expectSound(from: 21)
        }
    }

    @Test("A record that expired in flight becomes delivered when the response confirms it")
    func answeredLate() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let stored = try fixture.writer.store(try fixture.batch(10))
            fixture.set { $0.maxAge = .seconds(9) }
            #expect(try fixture.retain(atMost: 1).map(\.expired) == [20])
            try fixture.expectSound(from: 21)
            #expect(try fixture.reader.unansweredBatch(of: fixture.destination) == nil)
            try fixture.settle(stored)
            #expect(try fixture.ledger.expired == 10)
            #expect(try fixture.ledger.delivered == 10)
            try fixture.expectSound(from: 21)
        }
    }

    /// Damages the first block of the second range, which holds the rows 21 to 40, and returns the damaged ids.
    private func damage(_ fixture: Fixture) throws -> ClosedRange<RowID> {
        let shell = try fixture.store.shell()
        try shell.execute("UPDATE blocks SET checksum = checksum + 1 WHERE first_id = 21")
        let last = try shell.numbers("SELECT last_id FROM blocks WHERE first_id = 21")[0]
        // A connection that has read the block before may have cached it, so another one is opened.
        fixture.writer = try fixture.store.writer()
        return 21...RowID(last)
    }

    @Test("Records of a damaged block become expired when a scan passes them, and nothing else is lost")
    func scannedDamage() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let damaged = try damage(fixture)
            var found: [DamagedBlock] = []
            fixture.reader.blocks.onDamagedBlock = { found.append($0) }
            while true {
                var batch = try fixture.batch(7)
                if batch.sent.isEmpty { break }
                let span = try #require(batch.span)
                batch.unreadable = fixture.reader.blocks.unreadable(in: span)
                let stored = try fixture.writer.store(batch)
                try fixture.settle(stored)
            }
            let lost = damaged.upperBound.rawValue - damaged.lowerBound.rawValue + 1
            #expect(found == [DamagedBlock(rows: damaged, records: lost)])
            let ledger = try fixture.ledger
            #expect(ledger.received == 150)
            #expect(ledger.expired == Int(lost))
            #expect(ledger.delivered == 150 - Int(lost))
            #expect(ledger.pending == 0)
            #expect(try store.shell().table("SELECT * FROM ledger_check", columns: 2) == [])
            #expect(try store.shell().numbers("SELECT sum(records) FROM ranges")[0] == 140)
        }
    }

    @Test("Records of a damaged block become expired when retention removes them while they are pending")
    func removedDamage() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let first = try fixture.writer.store(try fixture.batch(20))
            try fixture.settle(first)
            let inFlight = try fixture.writer.store(try fixture.batch(5))
            #expect(inFlight.sent.map(\.row) == Array(21...25))
            _ = try damage(fixture)
            fixture.set { $0.maxAge = .zero }
            try fixture.settle(inFlight)
            #expect(try fixture.retain().isEmpty == false)
            let ledger = try fixture.ledger
            #expect(ledger.pending == 150 - 25 - ledger.expired)
            #expect(ledger.delivered == 25)
            #expect(try store.shell().numbers("SELECT min(id) FROM records")[0] > 40)
            #expect(try store.shell().table("SELECT * FROM ledger_check", columns: 2) == [])
            let waiting = try store.shell().numbers("SELECT count(*) FROM records")[0]
            #expect(ledger.pending == waiting)
        }
    }

    @Test("The store rejects a batch that was planned before its records were removed")
    func outdated() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let batch = try fixture.batch(10)
            fixture.set { $0.maxAge = .seconds(22) }
            #expect(try fixture.retain().count == 2)
            #expect(throws: StoreFailure.outdated) { try fixture.writer.store(batch) }
            #expect(try fixture.reader.backlog(of: fixture.destination, after: 0).records == 150)
            try fixture.expectSound(from: 41)
            let next = try fixture.writer.store(try fixture.batch(10))
            #expect(next.sent.map(\.row) == Array(41...50))
        }
    }

    @Test("A destination that is no longer configured loses only the records that were queued for it")
    func inactive() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, calls: 6)
            _ = try fixture.writer.configure([], at: store.wall)
            var samples = SampleRecords(seed: 9)
            for _ in 0..<10 { try fixture.log.send(samples.records(5), to: fixture.writer, of: store) }
            fixture.set { $0.maxAge = .zero }
            #expect(try fixture.retain().map(\.expired) == [20, 10, 0, 0])
            let ledger = try fixture.ledger
            #expect(ledger.received == 30)
            #expect(ledger.expired == 30)
            _ = try fixture.writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
            #expect(try fixture.ledger.received == 30)
            #expect(try store.shell().table("SELECT * FROM ledger_check", columns: 2) == [])
        }
    }

    @Test("The open range can be closed before it is full")
    func closesEarly() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, calls: 1)
            let since = try #require(try fixture.snapshot().openSince)
            #expect(since.duration(to: try fixture.snapshot().now) == .zero)
            try fixture.writer.closeOpenRange()
            #expect(try fixture.snapshot().openSince == nil)
            #expect(try fixture.snapshot().oldest?.lastID == 5)
            try fixture.writer.closeOpenRange()
            var samples = SampleRecords(seed: 7)
            for _ in 0..<5 { try fixture.log.send(samples.records(5), to: fixture.writer, of: store) }
            #expect(try store.shell().numbers("SELECT last_id FROM ranges") == [5, 25])
            #expect(try RangeAudit.faults(store.shell()) == [])
            try fixture.expectSound(from: 1)
        }
    }

    @Test("Retention removes unused producer marks, a few at a time")
    func marks() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            var middle = RecordLogInstant(milliseconds: 0)
            for number in 0..<10 {
                let producer = ProducerID(high: 1, low: UInt64(number))
                let call = SentCall([IssueRecord(message: "m")], producer: producer)
                try store.commit(try Submission([call]), to: writer)
                if number == 6 { middle = writer.logTime(wall: store.wall, monotonic: store.monotonic) }
            }
            #expect(try writer.deleteProducerMarks(before: middle, limit: 4))
            #expect(try !writer.deleteProducerMarks(before: middle, limit: 4))
            #expect(try store.shell().number("SELECT count(*) FROM producers") == 4)
        }
    }

    @Test("A user with too many producer marks loses those used least recently, and others keep theirs")
    func tooManyMarks() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let shell = try store.shell()
            func counts() throws -> [Int64] {
                try shell.numbers("SELECT count(*) FROM producers GROUP BY uid ORDER BY uid")
            }
            try shell.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
                INSERT INTO producers SELECT 7 + (i > 30), CAST(printf('%016d', i) AS BLOB), x'01', 1000 - i FROM n;
                """)
            try ProducerTable.removeExcess(
                maxPerUser: 20, maxTotal: 100, of: AccountableUsers(), on: writer.connection)
            #expect(try counts() == [20, 10])
            #expect(try shell.number("SELECT max(used_at) FROM producers WHERE uid = 7") == 999)
            #expect(try shell.number("SELECT min(used_at) FROM producers WHERE uid = 7") == 980)
            try ProducerTable.removeExcess(
                maxPerUser: 20, maxTotal: 18, of: AccountableUsers(), on: writer.connection)
            #expect(try counts() == [8, 10])
            try ProducerTable.removeExcess(
                maxPerUser: 20, maxTotal: 18, of: AccountableUsers(), on: writer.connection)
            #expect(try counts() == [8, 10])
        }
    }

    @Test("The producer marks of all ids of a user count together, so other users do not lose theirs")
    func tooManyMarksOfSubordinateIDs() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let shell = try store.shell()
            try shell.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
                INSERT INTO producers
                SELECT iif(i > 30, 7, 100000 + i), CAST(printf('%016d', i) AS BLOB), x'01', 1000 - i FROM n;
                """)
            let users = AccountableUsers(
                subordinates: Array("ann:100000:65536\n".utf8), users: Array("ann:x:1000:1000::/:/bin/sh\n".utf8))
            try ProducerTable.removeExcess(maxPerUser: 50, maxTotal: 25, of: users, on: writer.connection)
            #expect(try shell.number("SELECT count(*) FROM producers WHERE uid = 7") == 10)
            #expect(try shell.number("SELECT count(*) FROM producers WHERE uid <> 7") == 15)
            #expect(try shell.number("SELECT min(used_at) FROM producers WHERE uid <> 7") == 985)
            try ProducerTable.removeExcess(maxPerUser: 12, maxTotal: 100, of: users, on: writer.connection)
            #expect(try shell.number("SELECT count(*) FROM producers WHERE uid <> 7") == 12)
        }
    }

    @Test("However many producers a user invents, a limited number of marks is stored")
    func inventedProducers() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let calls = (0..<12_000).map { number in
                SentCall(
                    [#"{"message":"m"}"#], producer: ProducerID(high: 1, low: UInt64(number)), sequence: 1)
            }
            for first in stride(from: 0, to: calls.count, by: 1000) {
                try store.commit(try Submission(Array(calls[first..<first + 1000])), to: writer)
            }
            let count = try store.shell().number("SELECT count(*) FROM producers")
            #expect(count <= ProducerTable.maxPerUser + 2000)
            #expect(try store.shell().number("SELECT count(*) FROM records") == 12_000)
        }
    }

    @Test("Retention removes a full range of typical records in steps of at most an eighth of it")
    func steps() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
            var samples = SampleRecords(seed: 21)
            samples.issues = 25
            let submission = try Submission(of: samples.records(1000))
            for _ in 0..<66 { try store.commit(submission, to: writer) }
            let snapshot = try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
            let range = try #require(snapshot.oldest)
            var removed: [Int64] = []
            var isDone = false
            while !isDone {
                let progress = try writer.forget(range)
                removed.append(progress.records)
                isDone = progress.isDone
            }
            #expect(removed.reduce(0, +) == 66_000)
            #expect(removed.allSatisfy { $0 <= 66_000 / 8 })
            #expect(try store.shell().number("SELECT count(*) FROM records") == 0)
        }
    }
}
