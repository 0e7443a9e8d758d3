import Foundation
import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("Salvaging manipulated databases")
struct HostileSalvageTests {
    /// Manipulates a store of a hundred records, and returns the result of salvaging it.
    ///
    /// - Parameter asRows: `true` to convert it to the earlier format first, which has a table `records`.
    private func salvage(
        _ script: String, asRows: Bool = false, damage: (String) throws -> Void = { _ in }
    ) throws -> (recovered: Int64, steps: Int, hasGivenUp: Bool)? {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 20
            do {
                let writer = try store.writer()
                for part in 0..<10 {
                    try store.store(
                        (0..<10).map { IssueRecord(message: "record \(part) \($0)", app: Application(name: "shop")) },
                        to: writer)
                }
            }
            let old = try store.setAside()
            if asRows { try TemporaryStore.storeAsRows(old) }
            do {
                let connection = try DatabaseConnection(path: old, checkpointsOnClose: true)
                try connection.tolerateDamage()
                try connection.execute(composedSQL: script)
            }
            try damage(old)
            let writer = try store.writer()
            guard let salvaged = try? SetAsideStore(path: old, randomBits: 42) else { return nil }
            var result = (recovered: Int64(0), steps: 0, hasGivenUp: false)
            while let portion = salvaged.step() {
                result.steps += 1
                // The file has about a hundred pages.
                guard result.steps < 10_000 else {
                    Issue.record("The salvage does not end")
                    break
                }
                guard !portion.submissions.isEmpty else { continue }
                result.recovered += try writer.importSalvaged(
                    portion.submissions, wall: store.wall, monotonic: store.monotonic)
            }
            var last: GroupID = 0
            while let (notes, next) = salvaged.notes(above: last) {
                try writer.importSalvaged(notes)
                last = next
            }
            result.hasGivenUp = salvaged.hasGivenUp
            #expect(try store.shell().table("SELECT * FROM ledger_check", columns: 6).isEmpty)
            return result
        }
    }

    @Test(
        "Extreme numbers and missing tables cause neither a trap nor an endless loop, and records are recovered",
        arguments: [
            "UPDATE ranges SET last_id = 9223372036854775807",
            "UPDATE ranges SET last_id = 9223372036854775807; DROP TABLE groups",
            "UPDATE ranges SET last_id = 9223372036854700000; DROP TABLE ledger",
            "UPDATE groups SET first_record = 9223372036854775807; UPDATE ledger SET records = 9223372036854775807",
            "UPDATE processes SET pid = 9223372036854775807, gid = -1, started = -9223372036854775808",
            "UPDATE accounts SET uid = -9223372036854775808; UPDATE senders SET uid = 9223372036854775807",
            "UPDATE groups SET state = 2, rule = 9223372036854775807, muted_until = 9223372036854775807",
            "UPDATE stores SET first_id = -9223372036854775808; UPDATE clock SET first_id = 9223372036854775807",
            "DELETE FROM ranges; DELETE FROM ledger; DELETE FROM totals; DELETE FROM postings",
        ])
    func numbers(script: String) throws {
        for asRows in [false, true] {
            let result = try #require(try salvage(script, asRows: asRows))
            #expect(result.recovered > 0)
            #expect(!result.hasGivenUp)
        }
    }

    @Test(
        "Extreme times in rows of an earlier format cause neither a trap nor an endless loop; records are recovered",
        arguments: [
            "UPDATE records SET received_at = -9223372036854775808, occurred = -9223372036854775808 WHERE id > 1",
            "UPDATE records SET received_at = 9223372036854775807, occurred = 9223372036854775807 WHERE id > 1",
        ])
    func times(script: String) throws {
        let result = try #require(try salvage(script, asRows: true))
        #expect(result.recovered > 0)
        #expect(!result.hasGivenUp)
    }

    @Test(
        "Impossible or missing rows of blocks cost only the records of those blocks",
        arguments: [
            "UPDATE blocks SET last_id = 9223372036854775807 WHERE first_id = 1",
            "UPDATE blocks SET records = 9223372036854775807 WHERE first_id = 1",
            "UPDATE blocks SET records = -1 WHERE first_id = 1", "UPDATE blocks SET last_id = -5 WHERE first_id = 1",
            "UPDATE blocks SET body = zeroblob(1000000) WHERE first_id = 1",
            "UPDATE blocks SET first_id = -9223372036854775808 WHERE first_id = 1",
            "UPDATE blocks SET first_id = 9223372036854775807 WHERE first_id = 1",
            "UPDATE blocks SET first_id = 1152921504606846975 WHERE first_id = 1",
            "DELETE FROM blocks WHERE first_id = 1",
        ])
    func blocks(script: String) throws {
        let result = try #require(try salvage(script))
        #expect(result.recovered == 80)
        #expect(!result.hasGivenUp)
    }

    @Test("Rows with invalid ids are skipped, and the others are recovered")
    func rows() throws {
        let result = try #require(
            try salvage(
                """
                UPDATE records SET id = 9223372036854775807 WHERE id = 100;
                UPDATE records SET id = -5 WHERE id = 99;
                UPDATE records SET id = 1152921504606846975 WHERE id = 98
                """, asRows: true))
        // The third id is the highest valid one.
        #expect(result.recovered == 98)
    }

    @Test(
        "A view or another object instead of a table is rejected, and no endless result is read",
        arguments: [
            """
            DROP TABLE records; CREATE VIEW records AS WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
            SELECT id, 1 AS series, 1 AS process, 0 AS received_at, NULL AS occurred, NULL AS first_occurred, 1 AS count,
            'x' AS message, NULL AS metadata, NULL AS details FROM n
            """,
            """
            DROP TABLE ledger; CREATE VIEW ledger AS WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
            SELECT 0 AS destination, 1 AS account, 7 AS fate, id AS records, id AS occurrences FROM n
            """,
            "DROP TABLE records; CREATE VIRTUAL TABLE records USING fts5 (id, message)",
            """
            DROP TABLE blocks; CREATE VIEW blocks AS
            WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
            SELECT id AS first_id, id AS last_id, 1 AS records, 0 AS checksum, x'' AS body FROM n
            """,
        ])
    func views(script: String) throws {
        #expect(try salvage(script, asRows: script.contains("DROP TABLE records")) == nil)
    }

    @Test("Columns of other types and oversized texts cost only the records they belong to")
    func types() throws {
        let result = try #require(
            try salvage(
                """
                DROP TABLE records;
                CREATE TABLE records (id INTEGER PRIMARY KEY, series, process, received_at, occurred, first_occurred, count,
                    message, metadata, details);
                INSERT INTO records VALUES (1, 1, 1, 1000, NULL, NULL, 1, 'fine', NULL, NULL);
                INSERT INTO records VALUES (2, 'x', 'y', 'z', 'a', 'b', 'c', 1.5, x'00ff', 3);
                INSERT INTO records VALUES (3, 1e300, -1e300, 1e300, 1e300, 1e300, 1e300, NULL, '{', '[[[[');
                INSERT INTO records VALUES (4, 1, 1, 1000, NULL, NULL, 1, CAST(zeroblob(70000000) AS TEXT), NULL, NULL);
                INSERT INTO records VALUES (5, 1, 1, 1000, NULL, NULL, 1, 'fine, too', NULL, NULL)
                """, asRows: true))
        #expect(result.recovered == 2)
    }

    @Test("With arbitrary bytes in its pages, a database is rejected, or read in a limited number of steps")
    func pages() throws {
        var read = 0
        for seed in 0..<12 as Range<UInt64> {
            var samples = SampleRecords(seed: seed)
            let result = try salvage("UPDATE ranges SET last_id = 9000000000000000000") { path in
                let file = try FileHandle(forUpdating: URL(filePath: path))
                let size = try file.seekToEnd()
                for _ in 0..<64 {
                    try file.seek(toOffset: UInt64(8192 + samples.below(Int64(size) - 8192)))
                    try file.write(contentsOf: Data((0..<8).map { _ in UInt8(truncatingIfNeeded: samples.next()) }))
                }
            }
            guard let result else { continue }
            read += 1
            #expect(result.recovered > 0, "\(seed)")
        }
        #expect(read >= 6)
    }
}
