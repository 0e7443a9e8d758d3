import Foundation
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

/// The numbers of recovered and unreadable records of a set-aside database.
struct SalvageResult: Equatable {
    var recovered: Int64 = 0
    var unreadable: Int64 = 0
}

extension TemporaryStore {
    /// Imports the records of a set-aside database.
    func importSalvaged(_ path: String, into writer: StoreWriter) throws -> SalvageResult {
        var result = SalvageResult()
        let old = try SetAsideStore(path: path, randomBits: 42)
        var steps = 0
        while let portion = old.step() {
            steps += 1
            try #require(steps < 10_000, "The repair does not end")
            #expect(portion.unreadable >= 0)
            result.unreadable += portion.unreadable
            guard !portion.submissions.isEmpty else { continue }
            pass(.milliseconds(10))
            result.recovered += try writer.importSalvaged(portion.submissions, wall: wall, monotonic: monotonic)
        }
        return result
    }
}

@Suite("Importing from a set-aside database")
struct SalvageTests {
    @Test("A repair imports every record completely and once, however often it is repeated")
    func whole() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 100
            var log = SentLog()
            do {
                let writer = try store.writer()
                log = try SentLog.filled(store, writer)
            }
            let before = try store.reader().allRecords()
            let old = try store.setAside()
            let writer = try store.writer()
            try store.store([IssueRecord(message: "meanwhile")], to: writer)
            #expect(try store.importSalvaged(old, into: writer) == SalvageResult(recovered: Int64(log.entries.count)))
            #expect(try store.importSalvaged(old, into: writer) == SalvageResult())
            try expectSound(store)

            let after = try store.reader().allRecords().dropFirst()
            #expect(after.count == before.count)
            #expect(Set(after.map(\.id)).isDisjoint(with: before.map(\.id)))
            for (old, new) in zip(before, after) {
                #expect(new.record == old.record)
                #expect(new.sender == old.sender)
                #expect(new.group == old.group)
                #expect(new.repairs.contains { $0.contains(old.id) && $0.contains(old.receivedAt.description) })
            }
            let first = try #require(before.first)
            let foreign = first.sender.uid + 1
            let reader = try store.reader()
            // Receipts that were given before the repair remain valid, for the same viewers.
            for (old, new) in zip(before, after).prefix(3) {
                #expect(try reader.show(old.id, viewer: .everything).record?.id == new.id)
                let fates = try reader.fates(of: new.id, viewer: .everything)
                #expect(try reader.fates(of: old.id, viewer: .everything) == fates)
            }
            #expect(throws: QueryFailure.notFound(id: first.id)) {
                _ = try reader.show(first.id, viewer: .user(foreign))
            }
            // After a restart, it is still known that the records were imported.
            #expect(try store.importSalvaged(old, into: store.writer()) == SalvageResult())
        }
    }

    @Test("Every repair keeps the senders' own templates, the issues, and the mark that a record is not reportable")
    func templates() throws {
        try TemporaryStore.with { store in
            var records = [
                IssueRecord(message: "User ann not found in 12 tables", template: "User {} not found in {} tables"),
                IssueRecord(message: "Failed after 3 attempts at 12:07", template: "Failed after 3 attempts"),
                IssueRecord(message: "Timeout after 31 s of \u{1}"),
                IssueRecord(message: "Private", reportable: false),
                IssueRecord(message: "token=[redacted] for ann", template: "token={} for {}"),
            ]
            records[0].parts = [.string("ann"), .integer(12)]
            records[4].parts = [.string("[redacted]"), .string("ann")]
            _ = try store.store(records, to: store.writer())
            let sql = """
                SELECT groups.key, template, series.fingerprint FROM series JOIN groups ON groups.id = "group" ORDER BY 1
                """
            let before = try store.shell().table(sql, columns: 3)
            #expect(before.contains { $0[1] == "User \u{7} not found in \u{7} tables" })
            for round in 0..<3 {
                let old = try store.setAside(as: "old\(round)")
                store.settings.randomBits = { UInt64(round + 1) << 32 }
                let writer = try store.writer()
                #expect(try store.importSalvaged(old, into: writer).recovered == 5)
                #expect(try store.shell().table(sql, columns: 3) == before)
                let found = try store.reader().allRecords().map(\.record)
                #expect(found.map(\.message) == records.map(\.message))
                #expect(found.map(\.reportable) == [true, true, true, false, true])
            }
            try expectSound(store)
        }
    }

    @Test("After several repairs, a record names all of its old ids, and is found by each")
    func severalRepairs() throws {
        try TemporaryStore.with { store in
            try store.store([IssueRecord(message: "One"), IssueRecord(message: "Two")], to: store.writer())
            var ids: [[String]] = []
            for round in 0..<4 {
                ids.append(try store.reader().allRecords().map(\.id))
                let old = try store.setAside(as: "old\(round)")
                store.settings.randomBits = { UInt64(round + 1) << 32 }
                _ = try store.importSalvaged(old, into: store.writer())
            }
            let reader = try store.reader()
            let records = try reader.allRecords()
            for (index, record) in records.enumerated() {
                for old in ids.map({ $0[index] }) {
                    #expect(try reader.show(old, viewer: .everything).record?.id == record.id)
                    #expect(record.repairs.count { $0.contains(old) } == 1)
                }
            }
            #expect(Set(ids.joined() + records.map(\.id)).count == 10)
        }
    }

    @Test(
        "Records that are in several files are stored once, in whichever order these are repaired",
        arguments: [false, true]
    )
    func severalFiles(isNewestFirst: Bool) throws {
        try TemporaryStore.with { store in
            try store.store((0..<20).map { IssueRecord(message: "First \($0)") }, to: store.writer())
            let first = try store.setAside(as: "first")
            do {
                let writer = try store.writer()
                #expect(try store.importSalvaged(first, into: writer).recovered == 20)
                try store.store((0..<5).map { IssueRecord(message: "Second \($0)") }, to: writer)
            }
            let second = try store.setAside(as: "second")
            store.settings.randomBits = { 0x2222_2222_2222_2222 }
            let writer = try store.writer()
            // Since then, each file has lost some records, but not all the same ones.
            for (file, lost) in [(first, 4...6), (second, 5...12)] as [(String, ClosedRange<RowID>)] {
                let connection = try DatabaseConnection(path: file)
                let log = try BlockLog(on: connection)
                try connection.transaction { () throws(SQLiteError) in _ = try log.remove(Array(lost)) }
            }
            let files = isNewestFirst ? [second, first] : [first, second]
            let recovered = try files.map { try store.importSalvaged($0, into: writer).recovered }
            // Only two of the 25 records are in neither file.
            #expect(recovered == [17, 6])
            #expect(try store.importSalvaged(first, into: writer) == SalvageResult(unreadable: 3))
            try expectSound(store)
        }
    }

    @Test("A repair keeps records above the cardinality limits in their overflow issues and applications")
    func overflow() throws {
        try TemporaryStore.with { store in
            store.settings.limits.newGroupsPerApplication = Rate(3, per: .seconds(900))
            store.settings.limits.applicationsPerUser = 2
            do {
                let writer = try store.writer()
                for app in ["a", "b", "c", "d"] {
                    let words = ["one", "two", "three", "four", "five", "six"]
                    try store.store(
                        words.map { IssueRecord(message: $0, app: Application(name: app)) }, to: writer)
                }
                // Variants of one issue.
                try store.store(
                    (0..<5).map { IssueRecord(message: "one", app: Application(name: "a", version: "\($0)")) },
                    to: writer)
            }
            func issues() throws -> [[String?]] {
                try store.shell().table(
                    """
                    SELECT accounts.app, groups.title, sum(records) FROM groups JOIN accounts ON accounts.id = account
                    JOIN series_totals ON "group" = groups.id GROUP BY groups.id ORDER BY 1, 2
                    """, columns: 3)
            }
            func records() throws -> [IssueRecord] {
                try store.reader().allRecords().map(\.record)
            }
            let (before, sent) = (try issues(), try records())
            #expect(Set(before.map { $0[0] }) == ["a", "b", "overflow"])
            let old = try store.setAside()
            #expect(try store.importSalvaged(old, into: store.writer()).recovered == 29)
            let after = try issues()
            #expect(after == before)
            #expect(try records() == sent)
        }
    }

    @Test("A repair keeps all senders, and a repeated repair adds no processes")
    func senders() throws {
        try TemporaryStore.with { store in
            let senders = 0..<60
            do {
                let writer = try store.writer()
                for sender in senders {
                    try store.store(
                        [IssueRecord(message: "m", app: Application(name: "a"))],
                        from: .of(uid: 7, connection: UInt64(sender), command: "c\(sender)"), to: writer)
                }
            }
            let old = try store.setAside()
            store.settings.limits.applicationsPerUser = 1
            let writer = try store.writer()
            #expect(try store.importSalvaged(old, into: writer).recovered == 60)
            let commands = try store.shell().table("SELECT command FROM senders", columns: 1).compactMap { $0[0] }
            #expect(Set(commands) == Set(senders.map { "c\($0)" }))
            #expect(try store.importSalvaged(old, into: store.writer()) == SalvageResult())
            #expect(try store.shell().number("SELECT count(*) FROM processes") == 60)
        }
    }

    @Test(
        "The records of a damaged block, and no others, are counted as unreadable, even if those before it were erased")
    func damagedBlock() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 40
            store.settings.blockRecords = 10
            do {
                let writer = try store.writer()
                for _ in 0..<20 { try store.store((0..<10).map { IssueRecord(message: "m\($0)") }, to: writer) }
                try writer.closeOpenRange()
                _ = try writer.erase((1...120).map { RowID($0) })
                try store.shell().execute("UPDATE blocks SET checksum = checksum + 1 WHERE first_id = 131")
            }
            let old = try store.setAside()
            #expect(
                try store.importSalvaged(old, into: store.writer()) == SalvageResult(recovered: 70, unreadable: 10))
        }
    }

    @Test(
        "The number of unreadable records is a minimum if ledger or ranges are lost, or the newest row is unknown",
        arguments: [
            ("", false, false), ("", true, true), ("DROP TABLE ledger", false, true),
            ("DROP TABLE ranges", false, true),
        ])
    func minimum(change: String, isErased: Bool, isMinimum: Bool) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 40
            store.settings.blockRecords = 10
            do {
                let writer = try store.writer()
                for _ in 0..<22 { try store.store((0..<10).map { IssueRecord(message: "m\($0)") }, to: writer) }
                if isErased { _ = try writer.erase((1...120).map { RowID($0) }) }
                try store.shell().execute("DELETE FROM blocks WHERE first_id IN (131, 211)")
                try store.shell().execute(composedSQL: change)
            }
            let old = try SetAsideStore(path: store.setAside(), randomBits: 42)
            #expect(!old.isUnreadableMinimum)
            var unreadable: Int64 = 0
            while let portion = old.step() { unreadable += portion.unreadable }
            #expect(old.isUnreadableMinimum == isMinimum)
            #expect(isMinimum ? unreadable <= 20 : unreadable == 20)
        }
    }

    @Test("A repair imports the state of a group only if the group still has its initial state")
    func notes() throws {
        try TemporaryStore.with { store in
            let titles = ["open", "resolved", "muted", "said again", "gone"]
            func report(_ titles: [String], _ writer: StoreWriter) throws {
                try store.store(titles.map { IssueRecord(message: $0, app: Application(name: "shop")) }, to: writer)
            }
            do {
                let writer = try store.writer()
                try report(titles, writer)
                try writer.connection.execute(
                    """
                    UPDATE groups SET state = 1, regressed = 1, fixed_version = '3.0' WHERE title = 'resolved';
                    UPDATE groups SET changed_by = 7, changed_at = 4711, change_note = 'Vendor'
                        WHERE title IN ('open', 'said again');
                    UPDATE groups SET changed_by = 7, changed_at = 4712, change_note = hex(zeroblob(513))
                        WHERE title = 'resolved';
                    UPDATE groups SET state = 2, muted_until = 4711, muted_version = '2.0'
                        WHERE title IN ('muted', 'said again', 'gone');
                    -- A group of an earlier fingerprint rule.
                    UPDATE groups SET muted_left = 1000, rule = 1, fingerprint = 'of rule 1' WHERE title = 'muted';
                    """)
                try store.deleteRecords(where: "series IN (SELECT id FROM series WHERE template = 'gone')")
            }
            let old = try store.setAside()
            let writer = try store.writer()
            try report(["said again"], writer)
            try writer.connection.execute("UPDATE groups SET state = 1")
            // A group of another user with the same name.
            try store.store(
                [IssueRecord(message: "muted", app: Application(name: "shop"))], from: .of(uid: 7), to: writer)
            _ = try store.importSalvaged(old, into: writer)
            try writer.importSalvaged(SetAsideStore(path: old, randomBits: 42).notes()?.items ?? [])
            let query = """
                SELECT uid, title, state, muted_until, muted_version, regressed, fixed_version, changed_at, change_note
                FROM groups JOIN accounts ON accounts.id = account ORDER BY title, uid
                """
            #expect(
                try store.shell().table(query, columns: 9) == [
                    ["7", "muted", "0", nil, nil, "0", nil, nil, nil],
                    ["1000", "muted", "2", "4711", "2.0", "0", nil, nil, nil],
                    ["1000", "open", "0", nil, nil, "0", nil, "4711", "Vendor"],
                    ["1000", "resolved", "1", nil, nil, "1", "3.0", "4712", nil],
                    ["1000", "said again", "1", nil, nil, "0", nil, nil, nil],
                ])
        }
    }

    @Test(
        "After a repair, pending records are forwarded; so are dead letters, unless the file is of an earlier version",
        arguments: [false, true])
    func fates(isOlder: Bool) throws {
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                let id = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)[0].id
                for number in 0..<6 { try store.store([IssueRecord(message: "record \(number) x")], to: writer) }
                let stored = try writer.store(store.reader().nextBatch(4, for: id, at: store.wall))
                try writer.settle(BatchSettlement(of: stored, dead: [1], at: store.wall), destination: id)
                #expect(try store.shell().number("SELECT count(*) FROM dead_letters") == 1)
            }
            let old = try store.setAside()
            if isOlder {
                try TemporaryStore.storeAsRows(old)
                let file = try DatabaseConnection(path: old)
                try file.execute(
                    "DROP TABLE singles; DROP TABLE summary_windows; DROP TABLE ages; PRAGMA user_version = 5")
            }
            func forwarded(from path: String) throws -> [Bool] {
                let writer = try store.writer()
                _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
                #expect(try store.importSalvaged(path, into: writer).recovered == 6)
                try expectSound(store)
                return try store.reader().walk(after: 0, limit: 10).map(\.candidate.isReportable)
            }
            let first = try forwarded(from: old)
            #expect(first.count { $0 } == (isOlder ? 2 : 3))
            // None of the records is shown as not reportable, since no application has marked one.
            let shown = try store.reader().allRecords()
            #expect(shown.allSatisfy { $0.record.reportable == true })
            // The second file has no fates. The records that the first repair did not queue are still not forwarded.
            let second = try store.setAside(as: "second")
            try DatabaseConnection(path: second).execute(
                "DELETE FROM destinations; DELETE FROM batches; DELETE FROM singles")
            store.settings.randomBits = { 0x2222_2222_2222_2222 }
            #expect(try forwarded(from: second) == first)
        }
    }

    @Test("A repair imports what is readable from a corrupt file and counts the rest", arguments: [0.65, 0.75])
    func damaged(position: Double) throws {
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                var samples = SampleRecords(seed: 4)
                for _ in 0..<60 {
                    let records = samples.records(100).map { record in
                        var record = record
                        record.metadata = ["noise": .string(samples.noise(150))]
                        return record
                    }
                    try store.store(records, to: writer)
                }
                _ = try writer.checkpoint()
            }
            let old = try store.setAside()
            let file = try FileHandle(forUpdating: URL(filePath: old))
            let size = try file.seekToEnd()
            let pages = Int(size) / 8192
            try file.seek(toOffset: UInt64(Double(pages) * position) * 8192)
            try file.write(contentsOf: Data(repeating: 0x5A, count: 8192 * 4))
            try file.close()

            let writer = try store.writer()
            let result = try store.importSalvaged(old, into: writer)
            #expect(result.unreadable > 0)
            #expect(result.recovered > 3000)
            #expect(result.recovered + result.unreadable >= 6000)
            #expect(try store.importSalvaged(old, into: writer).recovered == 0)
            try expectSound(store)
        }
    }

    /// Stores six calls of 100 records each, moves the database aside, and overwrites the pages of the given tables and
    /// indexes with zeros. Returns the path of the set-aside database.
    private func setAsideWithout(_ names: [String], _ store: TemporaryStore) throws -> String {
        do {
            let writer = try store.writer()
            var samples = SampleRecords(seed: 4)
            for _ in 0..<6 { try store.store(samples.records(100), to: writer) }
        }
        let lost = try store.shell().table("SELECT name, pageno FROM dbstat", columns: 2)
            .filter { row in names.contains { $0 == row[0] } }
        #expect(Set(lost.map { $0[0] }) == Set(names))
        let old = try store.setAside()
        let file = try FileHandle(forUpdating: URL(filePath: old))
        for page in lost.compactMap({ $0[1].flatMap { UInt64($0) } }) {
            try file.seek(toOffset: (page - 1) * 8192)
            try file.write(contentsOf: Data(count: 8192))
        }
        try file.close()
        return old
    }

    @Test(
        "An unreadable sender is read from its index; without the index, only the record's user is known",
        arguments: [
            (["senders"], "shop"), (["senders", "sqlite_autoindex_senders_1"], nil),
            (["processes"], "shop"),
        ] as [([String], String?)])
    func lostSenders(names: [String], command: String?) throws {
        try TemporaryStore.with { store in
            let old = try setAsideWithout(names, store)
            let writer = try store.writer()
            #expect(try store.importSalvaged(old, into: writer) == SalvageResult(recovered: 600))
            let found = try store.reader().allRecords()
            #expect(Set(found.map(\.sender.uid)) == [1000])
            #expect(Set(found.map(\.sender.command)) == [command])
            let isSaid = found.allSatisfy { $0.repairs.contains { $0.contains("part of its sender is lost") } }
            #expect(isSaid == (names != ["senders"]))
            try expectSound(store)
        }
    }

    @Test("A record with an unreadable series is imported with what is in its own row")
    func lostSeries() throws {
        try TemporaryStore.with { store in
            let old = try setAsideWithout(["series"], store)
            let writer = try store.writer()
            #expect(try store.importSalvaged(old, into: writer) == SalvageResult(recovered: 600))
            let found = try store.reader().allRecords()
            #expect(found.count == 600)
            #expect(found.allSatisfy { !$0.record.message.isEmpty && $0.sender.command == "shop" })
            #expect(found.allSatisfy { $0.repairs.contains { $0.contains("part of its message are lost") } })
            try expectSound(store)
        }
    }

    @Test("Unreadable records are counted as far as the ledger shows that they existed")
    func lostRecords() throws {
        try TemporaryStore.with { store in
            let old = try setAsideWithout(["blocks"], store)
            let writer = try store.writer()
            #expect(try store.importSalvaged(old, into: writer) == SalvageResult(unreadable: 600))
            try expectSound(store)
        }
    }

    @Test("A repair imports the readable part of a truncated file")
    func cutOff() throws {
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                for round in 0..<40 {
                    let message = "Round \(round) " + String(repeating: "x", count: 500)
                    try store.store((0..<50).map { IssueRecord(message: "\(message) \($0)") }, to: writer)
                }
                try writer.checkpoint()
            }
            let old = try store.setAside()
            try? FileManager.default.removeItem(atPath: old + "-wal")
            let file = try #require(FileHandle(forWritingAtPath: old))
            let size = try file.seekToEnd()
            try file.truncate(atOffset: size - 8192)
            let writer = try store.writer()
            let result = try store.importSalvaged(old, into: writer)
            #expect(result.recovered > 1500)
            // The repair can't know the original number of records, so the sum may be higher.
            #expect(result.recovered + result.unreadable >= 2000)
            try expectSound(store)
        }
    }

    @Test("A repair rejects a file that is not a database of issued")
    func foreign() throws {
        try TemporaryStore.with { store in
            let path = store.path + ".junk"
            try Data(repeating: 7, count: 20_000).write(to: URL(filePath: path))
            #expect(throws: StoreFailure.self) { try SetAsideStore(path: path, randomBits: 1) }
            let other = store.path + ".other"
            try DatabaseConnection(path: other).execute("CREATE TABLE theirs (x)")
            #expect(throws: StoreFailure.self) { try SetAsideStore(path: other, randomBits: 1) }
        }
    }
}
