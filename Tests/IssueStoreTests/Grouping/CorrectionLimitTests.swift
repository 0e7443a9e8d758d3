import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

/// Limits for the rows and the work that one user can cause with corrections.
@Suite("Limits of corrections")
struct CorrectionLimitTests {
    private func number(_ sql: String, _ store: TemporaryStore) throws -> Int64 {
        try store.shell().number(sql)
    }

    /// Copies a group that a rule has merged, with its series, as if `count` more fingerprints had matched.
    private func copyRedirect(_ count: Int, in connection: DatabaseConnection) throws {
        try connection.execute(
            composedSQL: """
                CREATE TEMP TABLE first AS SELECT * FROM groups WHERE merged_by IS NOT NULL ORDER BY id LIMIT 1;
                WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < \(count))
                INSERT INTO groups (account, fingerprint, rule, key, merged_into, merged_by, title, severity, first_record,
                    first_at)
                SELECT account, 'f' || n, rule, n, merged_into, merged_by, '', severity, first_record, first_at
                FROM first, numbers;
                INSERT INTO series ("group", home, account, sender, hash, key, severity, reportable, template, first_at)
                SELECT groups.merged_into, groups.id, series.account, sender, groups.id, series.key, series.severity,
                    reportable, template, series.first_at
                FROM groups JOIN series ON series.home = (SELECT id FROM first)
                WHERE groups.id > (SELECT id FROM first) AND groups.merged_by IS NOT NULL;
                DROP TABLE first;
                """)
    }

    @Test("A rule that has merged many issues is undone in steps that move a limited number of series")
    func steps() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for message in ["Boss one", "User ann is gone"] { try store.store([.shop(message)], to: writer) }
            let (boss, user) = (try store.group("Boss one"), try store.group("User ann is gone"))
            let pattern = try #require(TitlePattern("User * is gone"))
            #expect(try writer.addRule(pattern, merging: [user], into: boss, by: store.author()) != nil)
            try copyRedirect(1000, in: writer.connection)
            let id = try #require(try store.reader().corrections(viewer: .everything).first).id
            var undoing = StoreWriter.Undoing(correction: id, by: store.author())
            var steps = 0
            while !undoing.isDone {
                let before = try number(#"SELECT count(*) FROM series WHERE home IS NULL"#, store)
                undoing = try #require(try writer.proceed(with: undoing))
                let after = try number(#"SELECT count(*) FROM series WHERE home IS NULL"#, store)
                #expect(after - before <= StoreWriter.seriesPerCorrection)
                steps += 1
                // An undoing that was interrupted is begun again.
                if steps == 5 { undoing = StoreWriter.Undoing(correction: id, by: store.author()) }
            }
            #expect(steps > 10)
            #expect(undoing.groups.count <= 1000)
            #expect(try number("SELECT count(*) FROM series WHERE home IS NOT NULL", store) == 0)
            #expect(try number("SELECT count(*) FROM groups WHERE merged_by IS NOT NULL", store) == 0)
            #expect(try number(#"SELECT count(*) FROM series WHERE "group" = \#(boss.rawValue)"#, store) == 1)
            #expect(try number("SELECT count(*) FROM corrections", store) == 0)
        }
    }

    @Test("A group with many series is split and merged in steps, and no series is lost")
    func manySeries() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for message in ["Boss one", "User ann is gone", "Disk full"] {
                try store.store([.shop(message)], to: writer)
            }
            let (boss, disk) = (try store.group("Boss one"), try store.group("Disk full"))
            let pattern = try #require(TitlePattern("User * is gone"))
            #expect(
                try writer.addRule(
                    pattern, merging: [try store.group("User ann is gone")], into: boss, by: store.author())
                    != nil)
            try copyRedirect(1500, in: writer.connection)
            func count(_ group: GroupID) throws -> Int64 {
                try number(#"SELECT count(*) FROM series WHERE "group" = \#(group.rawValue)"#, store)
            }
            guard case .done(let split) = try writer.split(boss, by: pattern, store.author()) else {
                Issue.record("not split")
                return
            }
            #expect(try (count(boss), count(split)) == (1, 1501))
            let correction = try #require(
                try store.reader().corrections(viewer: .everything).first { $0.kind == .split })
            _ = try writer.undo(correction: correction.id)
            #expect(try (count(boss), count(split)) == (1502, 0))
            #expect(try writer.merge([boss], into: disk, by: store.author())?.count == 1)
            // The first series move at once, the others in the background.
            #expect(try count(disk) == Int64(StoreWriter.seriesPerCorrection) + 1)
            while try !writer.regroup().isDone {}
            #expect(try (count(disk), count(boss)) == (1503, 0))
            #expect(try writer.undoMerges(of: disk).count == 2)
            #expect(try (count(boss), count(disk)) == (1502, 1))
        }
    }

    @Test("Merging, muting and undoing all day stores a limited number of moves and mutes")
    func moves() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for message in ["One", "Two"] { try store.store([.shop(message)], to: writer) }
            let (one, two) = (try store.group("One"), try store.group("Two"))
            for round in 0..<100 {
                #expect(try writer.merge([two], into: one, by: store.author())?.count == 1)
                _ = try writer.set(TriageState(.muted), ofGroup: one)
                // A record of another issue, so that the next change applies from a later row.
                try store.store([.shop("Three", version: "\(round)")], to: writer)
                _ = try writer.set(TriageState(), ofGroup: one)
                #expect(try writer.undoMerges(of: one).count == 2)
                try store.store([.shop("Two")], to: writer)
            }
            #expect(try number("SELECT max(n) FROM (SELECT count(*) AS n FROM moves GROUP BY series)", store) == 16)
            #expect(try number(#"SELECT max(n) FROM (SELECT count(*) AS n FROM mutes GROUP BY "group")"#, store) <= 65)
        }
    }

    @Test(
        "The length of a chain of merges is limited, and so are a user's corrections in all applications together")
    func limits() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for number in 0...StoreWriter.maxDepth + 1 {
                try store.store([.shop("x", fingerprint: "f\(number)")], to: writer)
            }
            let groups = try writer.connection.all("SELECT id FROM groups ORDER BY id") { $0.id(0, as: GroupID.self) }
            for number in 0..<StoreWriter.maxDepth {
                #expect(try writer.merge([groups[number]], into: groups[number + 1], by: store.author())?.count == 1)
            }
            let (last, next) = (groups[StoreWriter.maxDepth], groups[StoreWriter.maxDepth + 1])
            #expect(try writer.merge([last], into: next, by: store.author()) == nil)
            // The other direction adds no step.
            #expect(try writer.merge([next], into: last, by: store.author())?.count == 1)
            try writer.connection.execute(
                """
                INSERT INTO accounts (uid, app, first_at) SELECT uid, 'other', 0 FROM accounts LIMIT 1;
                WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 4096)
                INSERT INTO corrections (account, kind, source, target, author, at, reason)
                SELECT (SELECT max(id) FROM accounts), 1, 0, 0, 0, 0, '' FROM numbers;
                """)
            #expect(try writer.undoMerges(of: next).count == 2)
            #expect(try writer.merge([next], into: last, by: store.author()) == nil)
        }
    }

    @Test("Retention removes groups that a rule has merged; a group that is reported again is merged again")
    func retention() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for message in ["Boss one", "User ann is gone"] { try store.store([.shop(message)], to: writer) }
            let pattern = try #require(TitlePattern("User * is gone"))
            let boss = try store.group("Boss one")
            #expect(try writer.addRule(pattern, merging: [], into: boss, by: store.author()) != nil)
            for message in ["User bob is gone", "User carl is gone", "Last"] {
                try store.store([.shop(message)], to: writer)
            }
            #expect(try number("SELECT count(*) FROM groups WHERE merged_by IS NOT NULL", store) == 2)
            let away = try writer.connection.all("SELECT id FROM series WHERE home IS NOT NULL") {
                $0.id(0, as: SeriesID.self)
            }
            try writer.connection.execute("DELETE FROM blocks")
            try writer.collect(series: away, seenThrough: 1_000_000)
            #expect(try number("SELECT count(*) FROM groups WHERE merged_by IS NOT NULL", store) == 0)
            try store.store([.shop("User bob is gone")], to: writer)
            #expect(try number("SELECT count(*) FROM groups WHERE merged_into = \(boss.rawValue)", store) == 1)
        }
    }

    @Test("A file of a version without indexes for corrections is upgraded in place and gets them")
    func migration() throws {
        try TemporaryStore.with { store in
            let names = ["groups_by_correction", "moves_by_group", "deployments_by_user"]
            try store.store([.shop("One")], to: try store.writer())
            try store.downgrade(to: 15)
            for name in names {
                #expect(try number("SELECT count(*) FROM sqlite_schema WHERE name = '\(name)'", store) == 0)
            }
            let writer = try store.writer()
            try store.store([.shop("One")], to: writer)
            for name in names {
                #expect(try number("SELECT count(*) FROM sqlite_schema WHERE name = '\(name)'", store) == 1)
            }
            #expect(try number("SELECT count(*) FROM records", store) == 2)
        }
    }
}
