import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("Fair retention")
struct FairRetentionTests {
    /// A noisy user with a frequent and a rare issue, and a quiet user, in ranges of 100 records.
    private final class Fixture {
        let store: TemporaryStore
        var writer: StoreWriter
        let destination: Int64
        var noisy: [RecordID] = []
        var rare: [RecordID] = []
        var quiet: [RecordID] = []
        var audit: RetentionAudit

        init(_ store: TemporaryStore, rounds: Int = 100, isUnique: Bool = false) throws {
            self.store = store
            store.settings.rangeRecords = 100
            store.settings.retention.maxSize = 1 << 40
            writer = try store.writer()
            destination = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)[0].id
            audit = RetentionAudit(store, destination: destination)
            for round in 0..<rounds {
                var loud = IssueRecord(message: "loud", app: Application(name: "a"))
                loud.metadata = ["x": .string(String(repeating: "y", count: 100))]
                let all = (0..<9).map { number in
                    var record = loud
                    record.metadata = ["x": .string("zq\(1_000_000 + noisy.count + number)")]
                    return record
                }
                noisy += try store.store(isUnique ? all : [IssueRecord](repeating: loud, count: 9), to: writer)
                if round.isMultiple(of: 5) {
                    rare += try store.store([IssueRecord(message: "rare", app: Application(name: "a"))], to: writer)
                    quiet += try store.store(
                        [IssueRecord(message: "quiet", app: Application(name: "b"))], from: .of(uid: 1001), to: writer)
                }
            }
        }

        var total: Int { noisy.count + rare.count + quiet.count }

        /// Sets the size limit to 0, and removes records of closed ranges until at most `count` records are left in
        /// total. Returns the number of records that expired.
        func squeeze(to count: Int64, afterEach: () throws -> Void = {}) throws -> Int64 {
            try audit.remember()
            store.settings.retention.maxSize = 0
            writer.reload(LimitSettings(), store.settings.retention)
            var expired: Int64 = 0
            var idleSteps = 0
            while try left().count > count {
                let snapshot = try writer.retentionSnapshot(
                    freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
                switch Retention(settings: writer.retention).next(snapshot) {
                case .forget(let range, _): expired += try forget(range)
                case .thin(let holding, _), .trim(let holding, _, _):
                    var thinning = try writer.planThinning(of: holding.range, user: holding.user)
                    if thinning.isWhole {
                        expired += try forget(holding.range)
                        continue
                    }
                    var isDone = false
                    var records: Int64 = 0
                    while !isDone {
                        let progress = try writer.thin(&thinning)
                        expired += progress.expired
                        records += progress.records
                        isDone = progress.isDone
                        try expectConsistentCounts(underWay: isDone ? nil : holding.range.id)
                    }
                    // After a crash there may be nothing left to remove except entries in the posting lists.
                    idleSteps += records == 0 ? 1 : 0
                    #expect(idleSteps <= 1)
                    try afterEach()
                case .closeRange, .wait, .expire, .countUnreferenced, .collect: return expired
                }
            }
            return expired
        }

        private func forget(_ range: RetentionSnapshot.ClosedRange) throws -> Int64 {
            var expired: Int64 = 0
            while true {
                let progress = try writer.forget(range)
                expired += progress.expired
                if progress.isDone { return expired }
            }
        }

        func left() throws -> Set<RowID> { try audit.left() }

        /// Returns how many of the given records are left.
        func left(of ids: [RecordID]) throws -> Int {
            let left = try left()
            return ids.count { left.contains($0.row) }
        }

        func expectConsistentCounts(
            underWay: Int64? = nil, sourceLocation: Testing.SourceLocation = #_sourceLocation
        ) throws {
            try audit.expectConsistentCounts(total: total, underWay: underWay, sourceLocation: sourceLocation)
            let shell = try store.shell()
            let sums = "SELECT range, accounts.uid, sum(bytes) FROM postings JOIN series ON series.id = series"
            #expect(
                try shell.table("SELECT range, uid, bytes FROM shares ORDER BY 1, 2", columns: 3)
                    == shell.table(
                        """
                        \(sums) JOIN accounts ON accounts.id = account GROUP BY 1, 2 HAVING sum(bytes) > 0 ORDER BY 1, 2
                        """, columns: 3), sourceLocation: sourceLocation)
        }
    }

    @Test(
        "Retention removes the noisy user's frequent issue first, before their rare issue and the quiet user's records")
    func loudFirst() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.expectConsistentCounts()
            _ = try fixture.squeeze(to: Int64(fixture.total - 300))
            #expect(try fixture.left(of: fixture.quiet) == fixture.quiet.count)
            #expect(try fixture.left(of: fixture.rare) == fixture.rare.count)
            #expect(try fixture.left(of: fixture.noisy) <= fixture.noisy.count - 300)
            // The oldest records are gone, and all queries find the remaining ones.
            let left = try fixture.left()
            #expect(!left.contains(fixture.noisy[0].row) && left.contains(fixture.noisy[fixture.noisy.count - 1].row))
            for isAscending in [true, false] {
                for app in [["a"], ["b"], nil] {
                    var filter = IssueFilter()
                    filter.apps = app
                    let own: [RecordID]
                    switch app {
                    case ["a"]: own = fixture.noisy + fixture.rare
                    case ["b"]: own = fixture.quiet
                    default: own = fixture.noisy + fixture.rare + fixture.quiet
                    }
                    let rows = own.map(\.row).filter { left.contains($0) }.sorted()
                    let found = try store.reader().allRecords(filter, isAscending: isAscending)
                    #expect(found.compactMap { RecordID($0.id)?.row } == (isAscending ? rows : rows.reversed()))
                }
            }
        }
    }

    @Test("Retention can remove just the oldest records of a range; the others can still be found")
    func oldestPart() throws {
        try TemporaryStore.with { store in
            store.settings.blockRecords = 8
            let fixture = try Fixture(store)
            try fixture.audit.remember()
            let range = try #require(
                try fixture.writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
                    .oldest)
            var all = try store.shell().numbers("SELECT count(*) FROM records WHERE id <= \(range.lastID)")[0]
            // The second plan also covers rows that the first one has removed.
            for fraction in [0.3, 0.3, 0.5] {
                var thinning = try fixture.writer.planThinning(of: range, user: 1000, fraction: fraction)
                #expect(!thinning.isWhole)
                #expect(thinning.last < range.lastID)
                while try !fixture.writer.thin(&thinning).isDone {
                    try fixture.expectConsistentCounts(underWay: range.id)
                }
                try fixture.expectConsistentCounts()
                let rows = try store.shell().numbers("SELECT id FROM records WHERE id <= \(range.lastID)")
                #expect(rows.count < all)
                #expect(Double(rows.count) > Double(all) * (0.8 - fraction))
                all = Int64(rows.count)
                #expect(rows.contains(range.lastID.rawValue))
                let quiet = fixture.quiet.count { $0.row <= range.lastID }
                #expect(rows.count { row in fixture.quiet.contains { $0.row.rawValue == row } } == quiet)
            }
            let left = try fixture.left()
            for app in [["a"], ["b"], nil] {
                var filter = IssueFilter()
                filter.apps = app
                let own = app == ["a"] ? fixture.noisy + fixture.rare : app == ["b"] ? fixture.quiet : nil
                let rows = own?.map(\.row).filter { left.contains($0) }.sorted() ?? left.sorted()
                let found = try store.reader().allRecords(filter)
                #expect(found.compactMap { RecordID($0.id)?.row } == rows)
            }
            try fixture.writer.closeOpenRange()
            _ = try fixture.squeeze(to: 0)
            #expect(try fixture.left().isEmpty)
            try fixture.expectConsistentCounts()
        }
    }

    @Test("With less and less space, retention keeps the last record of each group until nothing else is left")
    func lastRecords() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            // A group without recent records.
            let once = try store.store(
                [IssueRecord(message: "once"), IssueRecord(message: "once")], from: .of(uid: 1000), to: fixture.writer)
            fixture.rare += once
            for _ in 0..<30 {
                fixture.noisy += try store.store(
                    [IssueRecord](repeating: IssueRecord(message: "loud", app: Application(name: "a")), count: 9),
                    to: fixture.writer)
            }
            try fixture.writer.closeOpenRange()
            _ = try fixture.squeeze(to: 40) {
                let groups = try store.reader().groups(.all, viewer: .everything).groups
                #expect(groups.count == 4)
                for group in groups {
                    #expect(try store.reader().show(group.id, viewer: .everything).record != nil, "\(group.title)")
                }
            }
            #expect(try fixture.left(of: [once[1]]) == 1)
            // In the end, retention removes all records and stops.
            _ = try fixture.squeeze(to: 0)
            #expect(try fixture.left().isEmpty)
            try fixture.expectConsistentCounts()
            let next = try store.store([IssueRecord(message: "next")], to: fixture.writer)[0]
            #expect(!(fixture.noisy + fixture.rare + fixture.quiet).contains(next))
        }
    }

    @Test(
        "Pending records that retention removes expire, unless a response confirms them; the rest is still scanned"
    )
    func pending() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let reader = try store.reader()
            func send(_ count: Int) throws -> StoredBatch {
                try fixture.writer.store(reader.nextBatch(count, for: fixture.destination, at: store.wall))
            }
            func settle(_ batch: StoredBatch) throws {
                try fixture.writer.settle(BatchSettlement(of: batch, at: store.wall), destination: fixture.destination)
            }
            try settle(send(40))
            let stored = try send(50)
            try fixture.expectConsistentCounts()
            let before = try fixture.left()
            let expired = try fixture.squeeze(to: Int64(fixture.total - 150))
            let removed = before.subtracting(try fixture.left())
            // The first 40 records have already been delivered.
            #expect(removed.contains { $0 <= 40 } && removed.contains { $0 > 40 && $0 <= 90 })
            #expect(expired == removed.count { $0 > 40 })
            #expect(try fixture.left(of: fixture.quiet) == fixture.quiet.count)
            #expect(try reader.destination(fixture.destination)?.cursor == 90)
            // Later the response shows that the records of the batch were delivered.
            try settle(stored)
            try fixture.expectConsistentCounts()
            let ledger = try reader.figures(viewer: .everything).ledgers[0].ledger
            #expect(ledger.delivered == 90)
            #expect(ledger.expired == removed.count { $0 > 90 })
            var cursor: RowID = 90
            var found: [RowID] = []
            while true {
                let some = try reader.walk(after: cursor, limit: 50).map(\.candidate.record)
                guard let last = some.last else { break }
                found += some
                cursor = last
            }
            #expect(found == (try fixture.left()).filter { $0 > 90 }.sorted())
        }
    }

    @Test("The texts of a new series count towards the space of the user who reported it")
    func newSeries() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for number in 0..<5 {
                let function = "f\(number)" + String(repeating: "x", count: 2000)
                _ = try store.store(
                    (0..<3).map { _ in IssueRecord(message: "m", source: SourceLocation(function: function)) },
                    from: .of(uid: 1000), to: writer)
                _ = try store.store([IssueRecord(message: "m \(number)")], from: .of(uid: 1001), to: writer)
            }
            try writer.closeOpenRange()
            let bytes = try store.shell().numbers("SELECT bytes FROM shares ORDER BY uid")
            #expect(bytes.count == 2)
            #expect(bytes[0] > 20_000 && bytes[0] < 30_000)
            #expect(bytes[1] < 5000)
        }
    }

    @Test("The store rejects a batch that was planned before some of its records were removed")
    func outdated() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let batch = try store.reader().nextBatch(50, for: fixture.destination, at: store.wall)
            _ = try fixture.squeeze(to: Int64(fixture.total - 400))
            #expect(throws: StoreFailure.outdated) { try fixture.writer.store(batch) }
            try fixture.expectConsistentCounts()
        }
    }

    @Test("Retention continues after a crash, and all remaining records are found in the meantime")
    func cutOff() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.audit.remember()
            store.settings.retention.maxSize = 0
            fixture.writer.reload(LimitSettings(), store.settings.retention)
            let snapshot = try fixture.writer.retentionSnapshot(
                freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
            guard case .thin(let holding, .size) = Retention(settings: store.settings.retention).next(snapshot) else {
                Issue.record("no user has records to remove")
                return
            }
            var thinning = try fixture.writer.planThinning(of: holding.range, user: holding.user)
            #expect(!thinning.isWhole)
            #expect(try fixture.writer.thin(&thinning).records > 0)
            let left = try fixture.left()
            fixture.writer = try store.writer()
            _ = try fixture.writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
            var own = IssueFilter()
            own.apps = ["a", "b"]
            for filter in [IssueFilter(), own] {
                let found = try store.reader().allRecords(filter, isAscending: false)
                #expect(found.compactMap { RecordID($0.id)?.row } == left.sorted(by: >))
            }
            _ = try fixture.squeeze(to: 200)
            try fixture.expectConsistentCounts()
        }
    }

    @Test("Counts and the ledger stay consistent when retention removes records after a purge")
    func purged() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            try fixture.writer.closeOpenRange()
            var filter = IssueFilter()
            filter.apps = ["b"]
            let rows = try store.reader().rows(filter, above: 0, through: .max, limit: 1000).rows
            let erasure = try fixture.writer.erase(rows)
            try fixture.writer.finishErasing(erasure.series.sorted(), isWhole: true)
            var minute: Int64? = 0
            while let from = minute { minute = try fixture.writer.collectCounts(from: from) }
            fixture.quiet = []
            try fixture.expectConsistentCounts()
            _ = try fixture.squeeze(to: 100)
            try fixture.expectConsistentCounts()
        }
    }

    @Test(
        "Thinning deletes a damaged block, unless some of its records are to be kept or wait for a destination",
        arguments: [false, true])
    func damaged(isPending: Bool) throws {
        try TemporaryStore.with { store in
            (store.settings.rangeRecords, store.settings.blockRecords) = (100, 5)
            func open() throws -> StoreWriter {
                let writer = try store.writer()
                if isPending {
                    _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
                }
                return writer
            }
            var writer = try open()
            var quiet: [RowID] = []
            for _ in 0..<30 {
                try store.store([IssueRecord](repeating: IssueRecord(message: "loud"), count: 9), to: writer)
                quiet += try store.store([IssueRecord(message: "quiet")], from: .of(uid: 1001), to: writer).map(\.row)
            }
            let shell = try store.shell()
            let blocks = try Statement(
                composedSQL: "SELECT first_id, last_id FROM blocks WHERE last_id <= 100 ORDER BY 1", on: shell
            ).all { $0.id(0, as: RowID.self)...$0.id(1, as: RowID.self) }
            let loud = try #require(blocks.first { rows in !quiet.contains { rows.contains($0) } })
            let mixed = try #require(blocks.first { rows in quiet.contains { rows.contains($0) } })
            try shell.execute(
                composedSQL: """
                    UPDATE blocks SET checksum = checksum + 1 WHERE first_id IN (\(loud.lowerBound), \(mixed.lowerBound))
                    """)
            store.settings.retention.maxSize = 0
            // A connection that has read the blocks before may have cached them, so another one is opened.
            writer = try open()
            let snapshot = try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
            guard case .thin(let holding, .size) = Retention(settings: writer.retention).next(snapshot) else {
                Issue.record("no user has records to remove")
                return
            }
            #expect(holding.user == 1000 && holding.range.id == 1)
            var thinning = try writer.planThinning(of: holding.range, user: holding.user)
            while try !writer.thin(&thinning).isDone {}
            let rows = "BETWEEN \(holding.range.firstID) AND \(holding.range.lastID)"
            let left = try shell.numbers("SELECT first_id FROM blocks WHERE first_id \(rows)").map { RowID($0) }
            #expect(left.contains(mixed.lowerBound))
            #expect(left.contains(loud.lowerBound) == isPending)
            let readable = try store.shell().numbers("SELECT id FROM records WHERE id \(rows)").map { RowID($0) }
            #expect(readable == quiet.filter { $0 <= holding.range.lastID && !mixed.contains($0) })
            #expect(
                try shell.number("SELECT sum(records) FROM blocks WHERE first_id \(rows)")
                    == shell.number("SELECT records FROM ranges WHERE id = 1"))
            #expect(try shell.table("SELECT * FROM ledger_check", columns: 2) == [])
        }
    }

    @Test(
        "When unused bytes are erased after thinning, a purge or removing a range, no part of a removed record is left")
    func bytes() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, isUnique: true)
            func bodies() throws -> Set<[UInt8]> {
                Set(try Statement(composedSQL: "SELECT body FROM blocks", on: store.shell()).all { $0.bytes(0) })
            }
            var before: Set<[UInt8]> = []
            func expectLeftAlone() throws {
                try ErasingTests.eraseUnusedBytes(fixture.writer)
                let left = try bodies()
                #expect(before.isEmpty || !before.subtracting(left).isEmpty)
                #expect(ErasingTests.remains(of: before.subtracting(left), besides: left, in: store.path) == 0)
                before.formUnion(left)
            }
            before = try bodies()
            _ = try fixture.squeeze(to: 700)
            #expect(try fixture.left(of: fixture.rare) == fixture.rare.count)
            try expectLeftAlone()

            var filter = IssueFilter()
            filter.level = .error
            let rows = try store.reader().rows(filter, above: 0, through: .max, limit: 50).rows
            try fixture.writer.closeOpenRange()
            let erasure = try fixture.writer.erase(rows)
            #expect(erasure.records > 20)
            try fixture.writer.finishErasing(erasure.series.sorted(), isWhole: false)
            try expectLeftAlone()

            // The file grows again, and its pages move.
            for round in 0..<60 {
                let more = IssueRecord(message: "more \(round)", app: Application(name: "c"))
                try store.store([IssueRecord](repeating: more, count: 20), to: fixture.writer)
            }
            try fixture.writer.closeOpenRange()
            try expectLeftAlone()
            let snapshot = try fixture.writer.retentionSnapshot(
                freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
            let oldest = try #require(snapshot.oldest)
            while try !fixture.writer.forget(oldest).isDone {}
            while try fixture.writer.shrink(pages: 1) > 0 {}
            try expectLeftAlone()
        }
    }
}
