import Foundation
import Glibc
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("Erasing")
struct ErasingTests {
    /// Erases what a filter matches, as a purge does. Calls `afterEach` after every step.
    @discardableResult
    private func purge(
        _ filter: IssueFilter, _ store: TemporaryStore, _ writer: StoreWriter, step: Int = 7,
        afterEach: () throws -> Void = {}
    ) throws -> Erasure {
        let reader = try store.reader()
        let last = writer.nextID - 1
        try writer.closeOpenRange()
        var erasure = Erasure()
        var edge: RowID? = 0
        while let above = edge {
            let found = try reader.rows(filter, above: above, through: last, limit: step)
            erasure.add(try writer.erase(found.rows))
            edge = found.edge
            try afterEach()
        }
        let series = try reader.series(toEraseBy: filter, erasure.series)
        try writer.finishErasing(series.sorted(), isWhole: filter.includesWholeSeries)
        try writer.eraseDeployments(reader.unreportedDeployments(), filter)
        return erasure
    }

    private func expectConsistentCounts(
        _ store: TemporaryStore, isFinished: Bool = true, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) throws {
        let shell = try store.shell()
        #expect(
            try RangeAudit.faults(shell).filter { isFinished || !$0.hasPrefix("totals") } == [],
            sourceLocation: sourceLocation)
        #expect(try LedgerAudit.faults(shell) == [], sourceLocation: sourceLocation)
        #expect(try shell.table("SELECT * FROM ledger_check", columns: 2) == [], sourceLocation: sourceLocation)
    }

    private func filter(_ change: (inout IssueFilter) -> Void) -> IssueFilter {
        var filter = IssueFilter()
        change(&filter)
        return filter
    }

    @Test("The store knows whether a filter by application may miss records in the overflow application of its users")
    func overflow() throws {
        try TemporaryStore.with { store in
            store.settings.limits.applicationsPerUser = 1
            let writer = try store.writer()
            let reader = try store.reader()
            try store.store([IssueRecord(message: "m", app: Application(name: "a"))], to: writer)
            #expect(try !reader.mayOverflow(filter { $0.apps = ["b"] }))
            try store.store([IssueRecord(message: "m", app: Application(name: "b"))], to: writer)
            #expect(try reader.mayOverflow(filter { $0.apps = ["b"] }))
            #expect(try !reader.mayOverflow(filter { $0.apps = ["b", "overflow"] }))
            #expect(try !reader.mayOverflow(filter { $0.users = [1000] }))
            for (user, expected) in [(1000, true), (1001, false)] as [(UInt32, Bool)] {
                let own = filter {
                    $0.apps = ["b"]
                    $0.users = [user]
                }
                #expect(try reader.mayOverflow(own) == expected)
            }
        }
    }

    @Test("A purge erases what a filter matches and nothing else, and the ledger balances after every step")
    func filters() throws {
        let filters: [IssueFilter] = [
            filter { $0.users = [1001] }, filter { $0.apps = ["app1"] }, filter { $0.level = .error },
            filter { $0.since = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000 + 300_000) },
            filter { $0.until = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000 + 300_000) },
            filter {
                $0.domains = ["com.example.1"]
                $0.since = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000 + 200_000)
            },
        ]
        for filter in filters {
            try TemporaryStore.with { store in
                store.settings.rangeRecords = 30
                let writer = try store.writer()
                _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
                let log = try SentLog.filled(store, writer)
                let toErase = Set(log.matching(filter, .everything).map(\.id))
                #expect(!toErase.isEmpty && toErase.count < log.entries.count)

                let erasure = try purge(filter, store, writer) { try expectConsistentCounts(store, isFinished: false) }
                #expect(erasure.records == Int64(toErase.count))
                try expectConsistentCounts(store)
                let reader = try store.reader()
                let left = log.entries.map(\.id).filter { !toErase.contains($0) }
                #expect(try reader.allRecords().map(\.id) == left)
                let groups = try reader.groups(.all, viewer: .everything).groups
                #expect(groups.map(\.records).reduce(0, +) == Int64(left.count))
                for group in groups { #expect(try reader.show(group.id, viewer: .everything).record != nil) }
                #expect(try purge(filter, store, writer).records == 0)

                // Later records are counted together with the remaining ones.
                var samples = SampleRecords(seed: 3)
                for _ in 0..<8 { try store.store(samples.records(5), to: writer) }
                try expectConsistentCounts(store)
            }
        }
    }

    @Test("After a purge of an issue, records that were split from it can still be forwarded")
    func splitAndPurge() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
            for (message, version) in [("Read of /a failed", "1.0"), ("Write of /b failed", "2.0")] {
                try store.store([.shop(message, version: version, fingerprint: "io")], to: writer)
            }
            let group = GroupID(try store.shell().number("SELECT id FROM groups"))
            let pattern = try #require(TitlePattern("Write *"))
            guard case .done(let other) = try writer.split(group, by: pattern, store.author()) else {
                Issue.record("not split")
                return
            }
            let series = SeriesID(try store.shell().number("SELECT id FROM series WHERE version = '2.0'"))
            #expect(try store.reader().info(ofSeries: series, at: 2)?.group == group)
            #expect(try purge(filter { $0.versions = ["1.0"] }, store, writer).records == 1)
            #expect(try store.reader().info(ofSeries: series, at: 2)?.group == other)
            try expectConsistentCounts(store)
        }
    }

    @Test("A purge erases matching issues whose records retention had removed, unless its filter contains a time")
    func withoutRecords() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for app in ["a", "b"] {
                let record = IssueRecord(message: "secret of \(app)", app: Application(name: app))
                try store.store([record, IssueRecord(message: "other", app: Application(name: app))], to: writer)
            }
            try writer.connection.execute("UPDATE groups SET state = 2 WHERE title LIKE 'secret%'")
            try writer.closeOpenRange()
            let oldest = try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
                .oldest
            while try !writer.forget(try #require(oldest)).isDone {}
            let titles = #"SELECT count(*) FROM groups WHERE title LIKE 'secret of a' OR title LIKE 'secret of b'"#
            #expect(try store.shell().number(titles) == 2)
            let recent = filter {
                $0.apps = ["a"]
                $0.since = store.wall
            }
            #expect(try purge(recent, store, writer).records == 0)
            #expect(try store.shell().number(titles) == 2)
            #expect(try purge(filter { $0.apps = ["a"] }, store, writer).records == 0)
            #expect(
                try store.shell().table("SELECT title FROM groups WHERE title LIKE 'secret%'", columns: 1) == [
                    ["secret of b"]
                ])
            #expect(try store.shell().table("SELECT * FROM ledger_check", columns: 2) == [])
            #expect(try store.shell().table("PRAGMA foreign_key_check", columns: 1) == [])
            #expect(try purge(filter { $0.states = [.muted] }, store, writer).records == 0)
            #expect(try store.shell().number(titles) == 0)
            #expect(try store.shell().table("SELECT * FROM ledger_check", columns: 2) == [])
            #expect(try store.shell().table("PRAGMA foreign_key_check", columns: 1) == [])
        }
    }

    @Test("A purge leaves no trace of erased text in the files: no title, template, text or index entry")
    func words() throws {
        try TemporaryStore.with { store in
            var writer: StoreWriter? = try store.writer()
            var own = IssueRecord(message: "Zaphod Beeblebrox paid 17", app: Application(name: "shop"))
            own.metadata = ["card": "Trillian"]
            own.domain = "Magrathea"
            try store.store(
                [own, IssueRecord(message: "stays", app: Application(name: "shop"))], to: try #require(writer))
            try purge(filter { $0.text = "Zaphod" }, store, try #require(writer))
            _ = try writer?.checkpoint()
            #expect(try store.shell().number("SELECT count(*) FROM groups WHERE title <> ''") == 1)
            #expect(try store.reader().groups(.all, viewer: .everything).groups.map(\.title) == ["stays"])
            // Closing the writer copies the WAL into the file, unless another connection is open.
            writer = nil
            for word in ["Zaphod", "zaphod", "Trillian", "Magrathea", "magrathea"] {
                #expect(!Self.hasTexts(beginningWith: word, in: store.path), "\(word) is in a file")
            }
        }
    }

    @Test("A purge by text erases only the records that contain the text, and a search no longer finds them")
    func byText() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            var record = IssueRecord(message: "Payment 1 failed")
            record.metadata = ["card": "4000-1234"]
            try store.store([record, IssueRecord(message: "Payment 2 failed")], to: writer)
            let byCard = filter { $0.text = "4000-1234" }
            #expect(try purge(byCard, store, writer).records == 1)
            try expectConsistentCounts(store)
            let reader = try store.reader()
            #expect(try reader.allRecords(byCard).isEmpty)
            #expect(try reader.groups(.of(byCard), viewer: .everything).groups.isEmpty)
            #expect(
                try reader.groups(.of(filter { $0.text = "payment" }), viewer: .everything).groups.map(\.records) == [1]
            )
        }
    }

    @Test("The store never assigns the id of an erased record again, even across restarts")
    func ids() throws {
        try TemporaryStore.with { store in
            var given: Set<RecordID> = []
            for round in 0..<4 {
                let writer = try store.writer()
                for id in try store.store([IssueRecord(message: "a"), IssueRecord(message: "b")], to: writer) {
                    #expect(given.insert(id).inserted)
                }
                try purge(filter { $0.since = IssueTimestamp(millisecondsSince1970: 0) }, store, writer)
                #expect(try store.shell().number("SELECT count(*) FROM records") == 0)
                #expect(writer.nextID == RowID(2 * round + 3))
                try expectConsistentCounts(store)
            }
        }
    }

    @Test("An issue that is reported again after its group was erased begins a new group")
    func again() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for round in 0..<3 {
                try store.store(
                    [IssueRecord(message: "the same"), IssueRecord(message: "other \(round) x")], to: writer)
                try purge(filter { $0.text = "same" }, store, writer)
                try expectConsistentCounts(store)
            }
            try store.store([IssueRecord(message: "the same")], to: writer)
            let groups = try store.reader().groups(.all, viewer: .everything).groups
            #expect(groups.filter { $0.title == "the same" }.map(\.records) == [1])
        }
    }

    // MARK: Fates

    private struct Fixture {
        let store: TemporaryStore
        let writer: StoreWriter
        let reader: StoreReader
        let destination: Int64
        var ids: [RecordID] = []

        init(_ store: TemporaryStore) throws {
            self.store = store
            writer = try store.writer()
            destination = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)[0].id
            reader = try store.reader()
            for number in 0..<10 {
                var record = IssueRecord(message: "m", count: Int64(number + 1))
                record.app = Application(name: number < 5 ? "a" : "b")
                ids += try store.store([record], to: writer)
            }
        }

        /// A batch of the first eight records: five sent, one withheld, two summarised.
        func batch() throws -> NewBatch {
            var batch = NewBatch(destination: destination, at: store.wall)
            let walked = try reader.walk(after: 0, limit: 8).map(\.candidate)
            for (index, candidate) in walked.enumerated() {
                let tally = NewBatch.Tally(account: candidate.account, records: 1, occurrences: candidate.count)
                switch index {
                case 0..<5:
                    batch.sent.append(
                        SentRecord(
                            row: candidate.record, account: candidate.account, count: candidate.count,
                            suppressedBefore: 0, occurrences: Int64(index)))
                case 5:
                    batch.withheld.append(candidate.record)
                    batch.withheldTally.append(tally)
                default: batch.summarised.append(tally)
                }
            }
            batch.span = 1...8
            return batch
        }

        func settle(_ batch: StoredBatch, dead: [Int] = [], line: String = "line") throws {
            try writer.settle(
                BatchSettlement(of: batch, dead: dead, line: line, at: store.wall), destination: destination)
        }
    }

    @Test("A purge subtracts each record from the count of its fate, and removes its dead letter")
    func fates() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let stored = try fixture.writer.store(try fixture.batch())
            try fixture.settle(stored, dead: [1])
            try expectConsistentCounts(store)
            for toErase in [[1, 2], [6, 7], [9], [3, 4, 5, 8], [10]] {
                try fixture.writer.closeOpenRange()
                let expected = try fixture.reader.deliveries(of: toErase.map { RowID($0) })
                let erasure = try fixture.writer.erase(toErase.map { RowID($0) })
                #expect(erasure.delivered == expected)
                #expect(erasure.records == Int64(toErase.count))
                if toErase == [1, 2] {
                    #expect(erasure.delivered == ["d": 1])
                    #expect(try store.shell().number("SELECT count(*) FROM dead_letters") == 0)
                }
                try fixture.writer.finishErasing(erasure.series.sorted(), isWhole: false)
                try expectConsistentCounts(store)
            }
            #expect(try store.shell().number("SELECT sum(abs(records)) FROM ledger") == 0)
        }
    }

    @Test("A record erased in flight is neither delivered nor expired when the response arrives")
    func underWay() throws {
        for isRestarted in [false, true] {
            try TemporaryStore.with { store in
                // Of the five records in flight, three are left. Without a restart, the refused line is an erased one.
                let fixture = try Fixture(store)
                var stored = try fixture.writer.store(try fixture.batch())
                try fixture.writer.closeOpenRange()
                #expect(try fixture.reader.deliveries(of: [2, 4, 7, 10]) == ["d": 2])
                #expect(try fixture.writer.erase([2, 4, 7, 10]).delivered == ["d": 2])
                try expectConsistentCounts(store, isFinished: false)
                if isRestarted {
                    stored = try #require(try fixture.reader.unansweredBatch(of: fixture.destination))
                    #expect(stored.sent.map(\.row) == [1, 3, 5])
                    #expect(stored.sent.map(\.occurrences) == [0, 2, 4])
                }
                try fixture.settle(stored, dead: [1])
                try expectConsistentCounts(store, isFinished: false)
                let ledger = try fixture.reader.figures(viewer: .everything).ledgers[0].ledger
                #expect(ledger.received == 6 && ledger.expired == 0 && ledger.pending == 1)
                #expect(ledger.delivered == (isRestarted ? 2 : 3))
                #expect(ledger.deadLettered == (isRestarted ? 1 : 0))
            }
        }
    }

    @Test("The store rejects a batch planned before some of its records were erased, and accepts one from a new scan")
    func outdated() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let batch = try fixture.batch()
            try fixture.writer.closeOpenRange()
            _ = try fixture.writer.erase([8])
            #expect(throws: StoreFailure.outdated) { try fixture.writer.store(batch) }
            var next = try fixture.batch()
            next.span = 1...9
            _ = try fixture.writer.store(next)
            try expectConsistentCounts(store)
        }
    }

    @Test("A batch without remaining records does not await a response")
    func emptied() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let stored = try fixture.writer.store(try fixture.batch())
            try fixture.writer.closeOpenRange()
            _ = try fixture.writer.erase(Array(1...10))
            #expect(try fixture.reader.unansweredBatch(of: fixture.destination) == nil)
            try fixture.settle(stored)
            try expectConsistentCounts(store)
        }
    }

    // MARK: Bytes

    /// Erases the unused bytes of the whole file, as a purge does at its end.
    static func eraseUnusedBytes(_ writer: StoreWriter) throws {
        writer.beginErasingUnusedBytes()
        defer { writer.endErasingUnusedBytes() }
        var pass = StoreWriter.UnusedBytesPass()
        var steps = 0
        while try writer.eraseUnusedBytes(&pass) != .done {
            steps += 1
            try #require(steps < 10_000, "The pass does not end")
        }
        #expect(pass.unread == 0)
    }

    @Test("Erasing unused bytes waits as long as another program holds the checkpoint lock")
    func foreignCheckpoint() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([IssueRecord(message: "zqgonemessage")], to: writer)
            let shared = try #require(FileHandle(forUpdatingAtPath: "\(store.path)-shm"))
            // F_OFD_SETLK, which Swift does not import. Such a lock conflicts with other locks of the same process.
            let setLock: CInt = 37
            var lock = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 121, l_len: 1, l_pid: 0)
            try #require(unsafe fcntl(shared.fileDescriptor, setLock, &lock) == 0)
            writer.beginErasingUnusedBytes()
            defer { writer.endErasingUnusedBytes() }
            var pass = StoreWriter.UnusedBytesPass()
            #expect(try writer.eraseUnusedBytes(&pass) == .waiting)
            lock.l_type = Int16(F_UNLCK)
            try #require(unsafe fcntl(shared.fileDescriptor, setLock, &lock) == 0)
            #expect(try writer.eraseUnusedBytes(&pass) != .waiting)
        }
    }

    /// Returns the texts that begin with `sign` in the files of a store.
    static func texts(beginningWith sign: String, in path: String) -> Set<String> {
        var found: Set<String> = []
        for ending in ["", "-wal"] {
            guard let data = FileManager.default.contents(atPath: path + ending) else { continue }
            var from = data.startIndex
            while let match = data.range(of: Data(sign.utf8), in: from..<data.endIndex) {
                let text = data[match.lowerBound...].prefix { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") }
                found.insert(String(decoding: text.prefix(60), as: UTF8.self))
                from = match.upperBound
            }
        }
        return found
    }

    /// Returns how many pieces of 16 bytes of `gone` are still in the files of a store.
    ///
    /// - Parameter others: Bytes that may be in the files. Pieces of `gone` that they also contain are not counted.
    static func remains(of gone: Set<[UInt8]>, besides others: Set<[UInt8]>, in path: String) -> Int {
        struct Piece: Hashable {
            var low: UInt64
            var high: UInt64
        }
        func pieces(_ bytes: [UInt8]) -> Set<Piece> {
            var found: Set<Piece> = []
            var piece = Piece(low: 0, high: 0)
            for (index, byte) in bytes.enumerated() {
                piece.high = piece.high << 8 | piece.low >> 56
                piece.low = piece.low << 8 | UInt64(byte)
                if index >= 15 { found.insert(piece) }
            }
            return found
        }
        var wanted: Set<Piece> = []
        for bytes in gone { wanted.formUnion(pieces(bytes)) }
        for bytes in others { wanted.subtract(pieces(bytes)) }
        let files = ["", "-wal"].compactMap { FileManager.default.contents(atPath: path + $0) }
        return files.reduce(0) { $0 + wanted.intersection(pieces(Array($1))).count }
    }

    /// Returns `true` if the files of a store contain a text that begins with `sign`.
    static func hasTexts(beginningWith sign: String, in path: String) -> Bool {
        ["", "-wal"].contains { ending in
            FileManager.default.contents(atPath: path + ending)?.range(of: Data(sign.utf8)) != nil
        }
    }

    private static let words = ["one", "two", "three"]

    private func unique(_ number: Int) -> IssueRecord {
        func word(_ kind: String) -> String { "zqgone\(kind)x\(number)" }
        var record = IssueRecord(message: "Zaphod said \(word("msg"))")
        record.app = Application(
            name: "shop", version: word("version"), environment: word("environment"), platform: word("platform"),
            network: word("network"))
        record.fingerprint = "one issue"
        record.domain = word("domain")
        record.code = 7000
        record.metadata = ["key": .string(word("meta"))]
        record.causes = [IssueCause(domain: word("cause"), code: 1, message: word("beneath"))]
        record.source = SourceLocation(
            fileID: word("file"), line: 70_000, function: word("function"), module: word("module"))
        return record
    }

    @Test(
        "If only some records of an issue are erased, everything that only those records contained is gone",
        arguments: [[true, false], [false, true], [false, true, false]])
    func sharedGroup(order: [Bool]) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 30
            let writer = try store.writer()
            for (round, isDoomed) in order.enumerated() {
                for number in 0..<20 {
                    var record = IssueRecord(
                        message: "open \(Self.words[round])", app: Application(name: "shop", version: "1.\(round)"))
                    record.fingerprint = "one issue"
                    record.source = SourceLocation(fileID: "open.swift", line: 1, function: "open()", module: "Open")
                    try store.store([isDoomed ? unique(number) : record], to: writer)
                }
            }
            #expect(!Self.texts(beginningWith: "zqgone", in: store.path).isEmpty)
            let toErase = (0..<20).map { "zqgoneversionx\($0)" }
            let erasure = try purge(filter { $0.versions = toErase }, store, writer)
            #expect(erasure.records == 20)
            try Self.eraseUnusedBytes(writer)
            #expect(Self.texts(beginningWith: "zqgone", in: store.path) == [])
            try expectConsistentCounts(store)
            let group = try #require(try store.reader().groups(.all, viewer: .everything).groups.first)
            let rounds = order.indices.filter { !order[$0] }
            #expect(group.title == "open \(Self.words[rounds[0]])" && group.code == nil)
            #expect(group.firstVersion == "1.\(rounds[0])" && group.lastVersion == "1.\(rounds[rounds.count - 1])")
            #expect(group.source?.fileID == "open.swift" && group.source?.line == 1)
            #expect(try store.reader().groups(.of(filter { $0.text = "Zaphod" }), viewer: .everything).groups.isEmpty)
        }
    }

    @Test("After a purge, no stored line of a dead letter or summary contains text of an erased record")
    func forwardedLines() throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store)
            let stored = try fixture.writer.store(try fixture.batch())
            func draft(_ group: GroupID?, _ reason: SuppressionReason) -> SummaryDraft {
                let at = RecordLogInstant(milliseconds: 1)
                return SummaryDraft(
                    group: group, account: 1, reason: reason, windowStart: at, windowEnd: at, suppressedCount: 1,
                    suppressedOccurrences: 1, forwardedCount: 0, occurrences: 1, summarySequence: 1, firstSeen: at,
                    lastSeen: at, samples: [], maxSeverity: .error, stillSuppressing: false, distinctGroups: 1,
                    spans: [])
            }
            let lines = [draft(1, .groupRate), draft(nil, .globalRate)].enumerated().map { number, draft in
                StoreWriter.NewSummary(draft: draft, line: Array("{\"title\":\"zqgonesummaryx\(number)\"}".utf8))
            }
            try fixture.writer.store(
                lines, changes: AdmissionChanges(), destination: fixture.destination, at: store.wall)
            try fixture.settle(stored, dead: [1], line: "zqgonelinex1")
            let written: Set = ["zqgonesummaryx0", "zqgonesummaryx1", "zqgonelinex1"]
            #expect(Self.texts(beginningWith: "zqgone", in: store.path) == written)
            try purge(filter { $0.apps = ["a"] }, store, fixture.writer)
            while try fixture.writer.collectOwners() {}
            try fixture.writer.eraseNewestOwners(processes: [], seenThrough: 10)
            try Self.eraseUnusedBytes(fixture.writer)
            #expect(Self.texts(beginningWith: "zqgone", in: store.path) == [])
            try expectConsistentCounts(store)
        }
    }
}
