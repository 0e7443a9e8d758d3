import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit
import Testing

@Suite("The views for the sqlite3 shell")
struct ViewTests {
    @Test("The view `issues` shows every issue with exact numbers")
    func showIssues() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 30
            let writer = try store.writer()
            _ = try SentLog.filled(store, writer)
            let groups = try store.reader().groups(.all, viewer: .everything).groups
            let rows = try store.shell().table(
                "SELECT severity, records, occurrences, first_seen, last_seen, uid, app, title, fingerprint FROM issues",
                columns: 9)
            let expected: [[String?]] = groups.map { group in
                [
                    group.level.name, "\(group.records)", "\(group.occurrences)", group.firstSeen.description,
                    group.lastSeen.description, "\(group.user)", group.app, group.title, group.fingerprint,
                ]
            }
            #expect(Set(rows) == Set(expected))
            #expect(rows.map { $0[4] } == expected.map { $0[4] })
        }
    }

    @Test("The view `recent` shows the newest records first, with their reassembled messages")
    func showRecent() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 30
            let writer = try store.writer()
            var log = try SentLog.filled(store, writer, calls: 20)
            let messages = [
                "", "no parts", "1", "1 2", "\"a\"\"b\"", "é 1 日本 'x y' 🔥 /a/b.c 1.2.3.4 0x1F", "line 1\nline 2\t3",
                "\u{1}\u{2} 3", "\u{1F}4",
            ]
            var records = messages.map { IssueRecord(message: $0) }
            records.append(
                IssueRecord(
                    message: "{ann} of 3: 4", template: "{{{}}} {} {}{}", parts: ["ann", "of", 3, .string("")]))
            try log.send(records, to: writer, of: store)
            let rows = try store.shell().table(
                "SELECT id, message, severity, uid, pid, unit, count FROM recent LIMIT 500", columns: 7)
            let expected: [[String?]] = log.entries.reversed().map { entry in
                [
                    "\(entry.row)", entry.record.message, (entry.record.severity ?? .error).name,
                    "\(entry.process.sender.uid)", "\(entry.process.sender.pid)", entry.process.sender.unit,
                    "\(entry.record.count ?? 1)",
                ]
            }
            #expect(rows == expected)
            // A LIMIT must end the query early.
            let plan = try store.shell().table("EXPLAIN QUERY PLAN SELECT * FROM recent LIMIT 5", columns: 4)
            #expect(!plan.contains { $0[3]?.contains("TEMP B-TREE FOR ORDER BY") == true })
        }
    }

    @Test("The view `ledgers` shows the ledger, and `ledger_check` shows only accounts with wrong sums")
    func showLedger() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try writer.configure([.init(name: "logz", kind: "k", takesBacklog: false)], at: store.wall)
            try store.store([IssueRecord(message: "m", count: 3)], to: writer)
            let shell = try store.shell()
            #expect(
                try shell.table("SELECT * FROM ledgers ORDER BY 1, 4", columns: 6) == [
                    ["host", "1000", "shop", "received", "1", "3"], ["logz", "1000", "shop", "pending", "1", "3"],
                    ["logz", "1000", "shop", "received", "1", "3"],
                ])
            #expect(try shell.table("SELECT * FROM ledger_check", columns: 6).isEmpty)
            for change in [
                "records = records + 1 WHERE fate = 0", "occurrences = 2 WHERE fate = 7 AND destination > 0",
                "records = -1, occurrences = -1",
            ] {
                try shell.execute(composedSQL: "BEGIN; UPDATE ledger SET \(change)")
                #expect(try shell.table("SELECT * FROM ledger_check", columns: 6).count == 1)
                #expect(try !LedgerAudit.faults(shell).isEmpty)
                try shell.execute(composedSQL: "ROLLBACK")
            }
        }
    }
}
