import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("Collecting unreferenced rows")
struct CollectingTests {
    /// Collects rows as the daemon's job does, but no issues without records. `between` runs before series and before
    /// processes are removed.
    private func collect(_ store: TemporaryStore, _ writer: StoreWriter, between: () throws -> Void = {}) throws {
        let reader = try store.reader()
        let kept = try writer.retentionStart(wall: store.wall, monotonic: store.monotonic)
        let old = try writer.expiredRanges(wall: store.wall, monotonic: store.monotonic)
        var references = StoreReader.References()
        while try reader.read(&references) {}
        let unreferenced = try reader.unreferenced(references, quietSince: old)
        try between()
        try writer.collect(series: unreferenced.series, seenThrough: references.edge)
        try between()
        try writer.collect(processes: unreferenced.processes, seenThrough: references.edge)
        while try writer.collectOwners() {}
        var minute: Int64? = 0
        while let from = minute { minute = try writer.collectCounts(from: from) }
        try rollUp(store, writer)
        var number: Int64? = 0
        while let above = number { number = try writer.collectSummaries(above: above, before: kept, now: store.wall) }
    }

    private func rollUp(_ store: TemporaryStore, _ writer: StoreWriter) throws {
        let time = store.wall.advanced(by: .zero - StoreWriter.hourlyCountsAge)
        var minute: Int64? = 0
        while let from = minute { minute = try writer.rollUpCounts(from: from, before: time) }
    }

    private func expectNothingDangling(
        _ store: TemporaryStore, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) throws {
        let shell = try store.shell()
        #expect(try shell.table("PRAGMA foreign_key_check", columns: 1) == [], sourceLocation: sourceLocation)
        for sql in [
            "SELECT count(*) FROM records WHERE series NOT IN (SELECT id FROM series)",
            "SELECT count(*) FROM records WHERE process NOT IN (SELECT id FROM processes)",
            "SELECT count(*) FROM counts WHERE series NOT IN (SELECT id FROM series)",
            "SELECT count(*) FROM totals WHERE series NOT IN (SELECT id FROM series)",
            "SELECT count(*) FROM postings WHERE series NOT IN (SELECT id FROM series)",
            "SELECT count(*) FROM ledger WHERE account NOT IN (SELECT id FROM accounts)",
        ] {
            #expect(try shell.number(sql) == 0, "\(sql)", sourceLocation: sourceLocation)
        }
        #expect(try shell.table("SELECT * FROM ledger_check", columns: 2) == [], sourceLocation: sourceLocation)
    }

    @Test("The collection removes rows older than the retention period, except for the newest row of each table")
    func old() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 50
            store.settings.retention.maxAge = .seconds(86_400)
            let writer = try store.writer()
            var samples = SampleRecords(seed: 8)
            for number in 0..<40 {
                let process = ReportingProcess.of(uid: 1000 + UInt32(number % 4), connection: UInt64(number + 1))
                try store.commit(try Submission(of: samples.records(5), from: process), to: writer)
            }
            try store.forgetAll(writer)
            // Not old enough yet: the counts can still be queried.
            writer.memory.caches.processes.removeAll()
            let before = try store.shell().number("SELECT count(*) FROM series")
            try collect(store, writer)
            #expect(try store.shell().number("SELECT count(*) FROM series") == before)
            #expect(try store.shell().number("SELECT count(*) FROM processes") == 1)

            store.pass(.seconds(2 * 86_400))
            try collect(store, writer)
            #expect(try store.shell().number("SELECT count(DISTINCT series) FROM counts") <= 1)
            // The newest group, and the group of the newest series.
            #expect(try store.shell().number("SELECT count(*) FROM groups") <= 2)
            for table in ["series", "processes", "totals", "clock"] {
                #expect(try store.shell().number("SELECT count(*) FROM \(table)") <= 1, "\(table)")
            }
            try expectNothingDangling(store)
            // The writer's caches do not return removed rows.
            for _ in 0..<4 {
                let process = ReportingProcess.of(uid: 1001, connection: 2)
                try store.commit(try Submission(of: samples.records(20), from: process), to: writer)
            }
            try expectNothingDangling(store)
            #expect(
                try store.reader().allRecords().count == 80)
            #expect(try store.shell().number("SELECT sum(records) FROM ledger WHERE fate = 7") == 280)
        }
    }

    @Test("The collection keeps what is reported again between two steps")
    func again() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 50
            store.settings.retention.maxAge = .seconds(60)
            let writer = try store.writer()
            let first = ReportingProcess.of(uid: 1000, connection: 1)
            func report() throws {
                let records = ["a", "b", "c"].map { IssueRecord(message: $0, app: Application(name: $0)) }
                try store.commit(try Submission(of: records, from: first), to: writer)
            }
            try report()
            try store.commit(
                try Submission(of: [IssueRecord(message: "newest")], from: .of(uid: 7, connection: 9)), to: writer)
            try store.forgetAll(writer)
            store.pass(.seconds(3600))
            try collect(store, writer, between: report)
            try expectNothingDangling(store)
            #expect(try store.shell().number("SELECT count(*) FROM records") == 6)
            try report()
            try writer.closeOpenRange()
            try expectNothingDangling(store)
            let groups = try store.reader().groups(.all, viewer: .everything).groups
            #expect(groups.count { ["a", "b", "c"].contains($0.title) } == 3)
        }
    }

    @Test("The collection keeps a muted group")
    func muted() throws {
        try TemporaryStore.with { store in
            store.settings.retention.maxAge = .seconds(60)
            let writer = try store.writer()
            try store.store(
                [IssueRecord(message: "muted"), IssueRecord(message: "x"), IssueRecord(message: "z")], to: writer)
            try writer.connection.execute("UPDATE groups SET state = 2 WHERE title = 'muted'")
            try store.forgetAll(writer)
            store.pass(.seconds(3600))
            try collect(store, writer)
            #expect(try store.shell().table("SELECT title FROM groups ORDER BY id", columns: 1) == [["muted"], ["z"]])
        }
    }

    /// Runs the passes over issues without records until the last one has ended.
    private func collectIssues(_ writer: StoreWriter) throws {
        var kept = KeptIssues(writer.retention)
        while kept.position != nil { try writer.collectIssues(&kept) }
    }

    /// Stores 100 issues with long texts of user 1001, 20 of user 1002 and one of user 1003, and mutes all of them.
    /// Removes their records, and their series except the newest one, which is never removed.
    private func keepIssues(_ store: TemporaryStore, _ writer: StoreWriter) throws {
        for (user, count, length) in [(1001, 100, 2000), (1002, 20, 10), (1003, 1, 10)] {
            let records = (0..<count).map { number in
                var record = IssueRecord(message: "issue", app: Application(name: "app\(user)"))
                record.fingerprint = "\(number)-" + String(repeating: "x", count: length)
                return record
            }
            try store.commit(
                try Submission(of: records, from: .of(uid: UInt32(user), connection: UInt64(user))), to: writer)
        }
        try writer.connection.execute("UPDATE groups SET state = 2")
        try store.forgetAll(writer)
        store.pass(.seconds(3600))
        try collect(store, writer)
    }

    private func groups(ofUser user: Int, _ store: TemporaryStore) throws -> [String?] {
        try store.shell().table(
            "SELECT id FROM groups WHERE account IN (SELECT id FROM accounts WHERE uid = \(user)) ORDER BY id",
            columns: 1
        ).map { $0[0] }
    }

    @Test("The space for muted issues without records is limited per user; above it, the oldest ones are removed")
    func mutedOfOneUser() throws {
        try TemporaryStore.with { store in
            store.settings.retention.maxAge = .seconds(60)
            store.settings.retention.maxSize = 4 << 20
            let writer = try store.writer()
            try keepIssues(store, writer)
            let ids = try groups(ofUser: 1001, store)
            #expect(ids.count == 100)
            try collectIssues(writer)
            let left = try groups(ofUser: 1001, store)
            // The limit is 256 KiB, and each issue takes 4.2 KB.
            #expect((55...65).contains(left.count), "\(left.count)")
            #expect(left == Array(ids.suffix(left.count)))
            #expect(try groups(ofUser: 1002, store).count == 20)
            try expectNothingDangling(store)
            try collectIssues(writer)
            #expect(try groups(ofUser: 1001, store) == left)
        }
    }

    @Test("A purge of a user also erases the user's muted issues whose records were removed before")
    func purgeOfUser() throws {
        try TemporaryStore.with { store in
            store.settings.retention.maxAge = .seconds(60)
            let writer = try store.writer()
            try keepIssues(store, writer)
            var next: GroupID? = 0
            while let above = next { next = try writer.eraseIssues(above: above, apps: ["other"], users: [1001]) }
            #expect(try groups(ofUser: 1001, store).count == 100)
            next = 0
            while let above = next { next = try writer.eraseIssues(above: above, apps: nil, users: [1001]) }
            #expect(try groups(ofUser: 1001, store).count == 0)
            #expect(try groups(ofUser: 1002, store).count == 20)
            try expectNothingDangling(store)
        }
    }

    @Test("Groups that were reported while the wall clock was set back are not collected early")
    func clockSetBack() throws {
        try TemporaryStore.with { store in
            store.settings.retention.maxAge = .seconds(30 * 86_400)
            let writer = try store.writer()
            try store.store([IssueRecord(message: "before")], to: writer)
            let right = store.wall
            store.wall = right.advanced(by: .seconds(-400 * 86_400))
            try store.store([IssueRecord(message: "meanwhile")], to: writer)
            store.wall = right
            try store.store([IssueRecord(message: "after"), IssueRecord(message: "newest")], to: writer)
            try store.forgetAll(writer)
            func titles() throws -> [String?] {
                try store.shell().table("SELECT title FROM groups ORDER BY id", columns: 1).map { $0[0] }
            }
            try collect(store, writer)
            #expect(try titles() == ["before", "meanwhile", "after", "newest"])
            store.pass(.seconds(29 * 86_400))
            try collect(store, writer)
            #expect(try titles() == ["before", "meanwhile", "after", "newest"])
            store.pass(.seconds(2 * 86_400))
            try collect(store, writer)
            #expect(try titles() == ["newest"])
            try expectNothingDangling(store)
            #expect(try store.shell().number("SELECT count(*) FROM ages") == 1)
        }
    }

    @Test("The collection keeps week-old counts per hour with exact sums, even after some records are erased")
    func hourlyCountsAge() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 50
            let writer = try store.writer()
            // Ten hours, with a record of each of two issues every seven minutes.
            for _ in 0..<86 {
                store.pass(.seconds(420))
                try store.store([IssueRecord(message: "kept", count: 3), IssueRecord(message: "erased")], to: writer)
            }
            try writer.closeOpenRange()
            let byHour =
                "SELECT minute - minute % 60 AS hour, series, sum(records), sum(occurrences) FROM counts GROUP BY 1, 2"
            let before = try store.shell().table(byHour, columns: 4)
            let rows = try store.shell().number("SELECT count(*) FROM counts")
            try rollUp(store, writer)
            #expect(try store.shell().number("SELECT count(*) FROM counts") == rows)

            // The counts of the first five hours are now at least a week old.
            store.pass(.seconds(7 * 86_400 - 5 * 3600))
            for _ in 0..<2 {
                try rollUp(store, writer)
                #expect(try store.shell().table(byHour, columns: 4) == before)
                let left = try store.shell().number("SELECT count(*) FROM counts")
                #expect(left > 2 * 10 && left < rows * 2 / 3)
            }
            store.pass(.seconds(7 * 86_400))
            try rollUp(store, writer)
            #expect(try store.shell().table(byHour, columns: 4) == before)
            #expect(try store.shell().number("SELECT count(*) FROM counts WHERE minute % 60 <> 0") == 0)

            let erased = try store.shell().numbers(
                "SELECT records.id FROM records JOIN series ON series.id = series WHERE template = 'erased' LIMIT 60")
            _ = try writer.erase(erased.map { RowID($0) })
            let sums = "SELECT sum(records), sum(occurrences) FROM counts JOIN series ON series.id = series"
            #expect(
                try store.shell().table("\(sums) GROUP BY template ORDER BY template", columns: 2)
                    == [["26", "26"], ["86", "258"]])
        }
    }

    @Test("To find rows of `clock`, `mutes` and `moves` that no record needs, the collection does not read all blocks")
    func readsOneBlock() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store((0..<1000).map { IssueRecord(message: "Report \($0)") }, to: writer)
            try writer.closeOpenRange()
            // A damaged block is noted when it is read. A writer that opens the store reads only the open range,
            // which is empty here.
            try store.shell().execute(
                "UPDATE blocks SET checksum = checksum + 1 WHERE first_id > 1 AND last_id < 1000")
            #expect(try store.shell().number("SELECT count(*) FROM blocks") > 2)
            let later = try store.writer()
            while try later.collectOwners() {}
            #expect(later.blocks.reader.damagedBlocks == [])
        }
    }
}
