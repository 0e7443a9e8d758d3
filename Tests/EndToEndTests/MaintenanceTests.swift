import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@Suite("Backup, repair and purge", .daemonLog)
struct MaintenanceTests {
    @Test("A backup made under load can be restored; no id is used twice, and repair recovers what the backup lacks")
    func backupAndRestore() async throws {
        try await DaemonFixture.with { daemon in
            for part in 0..<5 {
                let records = (0..<1000).map { IssueRecord(message: "Bulk \(part) \($0)") }
                _ = try RawClient(path: daemon.socket).report(records)
            }
            // The load continues until the daemon exits, which is after the end of the backup.
            let load = try Load(
                daemon.socket, clients: 2, pipelined: 1, recordsPerCall: 5, round: 1, maxCalls: .max)
            try await eventually("reports are stored") { load.receipts.count > 5 }
            let before = load.receipts
            let copy = daemon.folder["copy.db"]
            #expect(try daemon.issuectl(["backup", copy]).output.hasPrefix("\(copy): "))
            // A backup never overwrites an existing file.
            try daemon.issuectl(["backup", copy], ends: .exit(1))
            let meanwhile = load.receipts.count
            try await eventually("reports are still stored") { load.receipts.count > meanwhile }
            let late = try RawClient(path: daemon.socket).report("after the copy")[0]
            try daemon.terminate()
            #expect(load.waitForEnd())
            let receipts = load.receipts.merging(["after the copy": late]) { $1 }
            let names = try FileManager.default.contentsOfDirectory(atPath: daemon.folder["state"])
            #expect(!names.contains { $0.contains("backup") })

            // As described in Operations.md.
            let old = "\(daemon.database).damaged-2026-11-21T00:00:00.000Z"
            try? FileManager.default.removeItem(atPath: "\(daemon.database)-shm")
            for ending in ["", "-wal"] where FileManager.default.fileExists(atPath: daemon.database + ending) {
                try FileManager.default.moveItem(atPath: daemon.database + ending, toPath: old + ending)
            }
            try FileManager.default.copyItem(atPath: copy, toPath: daemon.database)
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            let restored = try client.allRecords()
            let ids = Dictionary(uniqueKeysWithValues: restored.map { ($0.record.message, $0.id) })
            for (message, id) in before { #expect(ids[message] == id) }
            var given = Set(receipts.values).union(restored.map(\.id))
            for _ in 0..<20 {
                for id in try client.report("new", "newer") { #expect(given.insert(id).inserted) }
            }
            try daemon.restart()
            for id in try RawClient(path: daemon.socket).report("after a restart") {
                #expect(given.insert(id).inserted)
            }
            let missing = receipts.keys.filter { ids[$0] == nil }
            #expect(missing.contains("after the copy"))
            let reply = try JSONValue(json: try daemon.issuectl(["repair", "--json"]).output)
            #expect(reply["recovered"] == .integer(Int64(missing.count)))
            #expect(reply["earlier"] == .integer(Int64(restored.count)))
            let messages = try RawClient(path: daemon.socket).allRecords().map(\.record.message)
            for message in receipts.keys { #expect(messages.count { $0 == message } == 1) }
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("A backup of a database with a damaged page fails, but the copy is kept and its path is printed")
    func damagedPage() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("one")
            try daemon.terminate()
            let root = try #require(
                Int(
                    try DatabaseFile(daemon.database).rows(
                        "SELECT rootpage FROM sqlite_schema WHERE name = 'dead_letters'", columns: 1)[0][0]))
            let file = try FileHandle(forWritingTo: URL(filePath: daemon.database))
            try file.seek(toOffset: UInt64(root - 1) * 8192)
            try file.write(contentsOf: Data(repeating: 0x5A, count: 8192))
            try file.close()
            try daemon.start()
            let copy = daemon.folder["copy.db"]
            #expect(try daemon.issuectl(["backup", copy], ends: .exit(1)).output.hasPrefix("\(copy): "))
            #expect(try DatabaseFile(copy).rows("SELECT count(*) FROM blocks", columns: 1) == [["1"]])
            try await daemon.logs("id=job.backup-damaged")
        }
    }

    @Test("A purge erases only matching records and names copies it can't reach; ids of erased records are not reused")
    func purge() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        var configuration = DaemonConfiguration.forwarding(to: listener)
        configuration.text += "\n[Notify oncall]\nCommand=/bin/true\n"
        try await DaemonFixture.with(configuration) { daemon in
            let client = try RawClient(path: daemon.socket)
            let gone = try client.report("Zaphod was here", app: "private")
            let kept = try client.report("Nothing to see", app: "shop")
            for id in gone + kept { #expect(try client.awaitFates(of: id).map(\.outcome) == [.delivered]) }
            let name = try client.destination().name
            #expect(
                try daemon.issuectl(["purge", "--app", "private", "--dry-run"]).output
                    == """
                    1 record would be erased.
                    Copies may remain in:
                      1 of the records at the destination \(name)
                      messages with text of records that may have been sent by: oncall

                    """)
            try daemon.issuectl(["purge", "--app", "private"], ends: .exit(64))
            #expect(try client.show(gone[0]).record?.id == gone[0])

            try daemon.issuectl(["backup"])
            let output = try daemon.issuectl(["purge", "--app", "private", "--yes"]).output
            #expect(output.hasPrefix("1 record was erased.\n"))
            #expect(output.contains("backup") && output.contains("1 of the erased records at the destination"))
            #expect(output.hasSuffix("  messages with text of records that may have been sent by: oncall\n"))
            #expect(throws: (any Error).self) { try client.show(gone[0]) }
            #expect(try client.show(kept[0]).record?.id == kept[0])
            #expect(try client.groups().map(\.app) == ["shop"])
            try await eventually("the status has the records") { try client.status().received == 1 }
            #expect(try client.destination().ledger.balances)
            #expect(
                try daemon.issuectl(["purge", "--since", "1h", "--yes"]).output.hasPrefix("1 record was erased.\n"))
            let next = try client.report("The next", app: "shop")[0]
            #expect(!(gone + kept).contains(next))
            try daemon.restart()
            let again = try RawClient(path: daemon.socket)
            #expect(try again.report("One more", app: "shop")[0] != next)
            #expect(try again.allRecords().count == 2)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("Reports are stored during a large purge, which erases only the matching records")
    func largePurge() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            for part in 0..<40 {
                _ = try client.report(
                    (0..<1000).map { number in
                        IssueRecord(
                            message: "Record \(part * 1000 + number)",
                            app: Application(name: number.isMultiple(of: 2) ? "even" : "odd"))
                    })
            }
            try client.begin(.purge, PurgeParameters(filter: IssueFilter(apps: ["even"])), more: true)
            let reporter = try RawClient(path: daemon.socket)
            var reported = 0
            var slowest = Duration.zero
            var last: PurgeReply?
            while last == nil {
                // Reports are sent until the purge has ended, so all but the last one are sent during the purge.
                slowest = max(
                    slowest,
                    try ContinuousClock().measure { _ = try reporter.report("Meanwhile \(reported)", app: "odd") })
                reported += 1
                while let reply = try? client.reply(within: .zero) {
                    if !reply.continues { last = try PurgeReply(json: reply.parameters) }
                }
            }
            #expect(reported > 1)
            #expect(slowest < .seconds(5))
            #expect(last?.count == 20_000)
            try await eventually("the status has the records") {
                try client.status().store.records == 20_000 + reported
            }
            #expect(try client.groups().allSatisfy { $0.app == "odd" })
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    /// A kind of damage to a database.
    enum DatabaseDamage: CaseIterable {
        case header, firstPage, schema

        /// Returns the parts of the file to overwrite, as ranges of byte offsets.
        func offsets(in file: DatabaseFile) throws -> [Range<Int>] {
            switch self {
            case .header: return [0..<100]
            case .firstPage: return [0..<8192]
            case .schema:
                let leaves = try file.rows(
                    "SELECT pageno FROM dbstat WHERE name = 'sqlite_schema' AND pagetype = 'leaf'", columns: 1
                ).compactMap { Int($0[0]) }
                #expect(leaves.count > 1)
                return leaves.map { ($0 - 1) * 8192..<$0 * 8192 }
            }
        }
    }

    @Test(
        "All records are recovered from a database whose header, first page or schema was overwritten",
        arguments: DatabaseDamage.allCases)
    func repairWithoutSchema(lost: DatabaseDamage) async throws {
        try await DaemonFixture.with { daemon in
            var old: [String] = []
            for part in 0..<4 {
                let records = (0..<500).map { IssueRecord(message: "Record \(part * 500 + $0)") }
                old += try RawClient(path: daemon.socket).report(records).map { try $0.storedID }
            }
            try daemon.terminate()
            let offsets = try lost.offsets(in: daemon.file)
            let file = try FileHandle(forWritingTo: URL(filePath: daemon.database))
            for range in offsets {
                try file.seek(toOffset: UInt64(range.lowerBound))
                try file.write(contentsOf: Data(range.map { UInt8(truncatingIfNeeded: $0 &* 77 &+ 13) }))
            }
            try file.close()
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("After")
            let output = try daemon.issuectl(["repair"]).output
            #expect(
                output.hasPrefix("2,000 records recovered") || output.hasPrefix("2000 records recovered"), "\(output)")
            let found = try client.allRecords()
            #expect(found.count == 2001)
            #expect(Set(found.flatMap(\.repairs)).count == 2000)
            let last = found.filter { $0.repairs.contains { $0.contains(old[1999]) } }
            #expect(last.map(\.record.message) == ["Record 1999"])
            #expect(try daemon.file.ledgerFaults == [])
            let names = try FileManager.default.contentsOfDirectory(atPath: daemon.folder["state"])
            #expect(!names.contains { $0.contains("repairing") || $0.contains("damaged") })
        }
    }

    @Test("All records are recovered although one byte of the root page of the table `blocks` is damaged")
    func repairWithoutRoot() async throws {
        try await DaemonFixture.with { daemon in
            for part in 0..<20 {
                let text = String(repeating: "\(part) ", count: 20)
                let records = (0..<100).map { IssueRecord(message: "Record \(part * 100 + $0): \($0 * 7919) \(text)") }
                _ = try RawClient(path: daemon.socket).report(records)
            }
            try daemon.terminate()
            let pages = try daemon.file.rows(
                "SELECT pageno, pagetype FROM dbstat WHERE name = 'blocks' ORDER BY path", columns: 2)
            #expect(pages[0][1] == "internal")
            let root = try #require(UInt64(pages[0][0]))
            let file = try FileHandle(forWritingTo: URL(filePath: daemon.database))
            try file.seek(toOffset: (root - 1) * 8192)
            try file.write(contentsOf: Data([0]))
            try file.close()
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("After")
            #expect(try client.status().store.faults.count == 1)
            let output = try daemon.issuectl(["repair"]).output
            #expect(
                output.hasPrefix("2,000 records recovered") || output.hasPrefix("2000 records recovered"), "\(output)")
            #expect(!output.contains("unreadable"), "\(output)")
            #expect(try client.allRecords().count == 2001)
            #expect(try daemon.file.ledgerFaults == [])
            #expect(try client.status().store.faults == [])
        }
    }

    @Test("If a set-aside database has no readable record, repair fails with a message and does not rename the file")
    func repairOfNothing() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("One", "Two")
            try daemon.terminate()
            let root = try daemon.file.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'blocks'", columns: 1)
                .first.flatMap { UInt64($0[0]) }
            let file = try FileHandle(forWritingTo: URL(filePath: daemon.database))
            try file.seek(toOffset: (try #require(root) - 1) * 8192)
            try file.write(contentsOf: Data(count: 8192))
            try file.close()
            try daemon.start()
            let names = {
                try FileManager.default.contentsOfDirectory(atPath: daemon.folder["state"]).filter {
                    $0.contains("damaged") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
                }
            }
            let before = try names()
            #expect(before.count == 1)
            let output = try daemon.issuectl(["repair"], ends: .exit(1)).output
            #expect(output.hasPrefix("Nothing could be read from these; they are unchanged"), "\(output)")
            #expect(try names() == before)
            #expect(try RawClient(path: daemon.socket).status().store.faults.count == 1)
        }
    }

    @Test("A set-aside database is recovered only once, and its delivered records are not forwarded again")
    func repair() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let client = try RawClient(path: daemon.socket)
            let old = try client.report("One", "Two")
            for id in old { #expect(try client.awaitFates(of: id).map(\.outcome) == [.delivered]) }
            try daemon.terminate()
            let name = "issues.db.damaged-2026-11-21T00:00:00.000Z"
            try FileManager.default.moveItem(atPath: daemon.database, toPath: daemon.folder["state/\(name)"])
            try daemon.start()

            #expect(try daemon.issuectl(["repair", "--list"]).output == "\(name)\n")
            try daemon.issuectl(["repair", "nonsense"], ends: .exit(1))
            #expect(try daemon.issuectl(["repair"]).output == "2 records recovered, from:\n  \(name)\n")
            #expect(try daemon.issuectl(["repair"]).output == "No database was moved aside.\n")
            let again = try RawClient(path: daemon.socket)
            let found = try again.allRecords()
            #expect(found.map(\.record.message) == ["Two", "One"])
            #expect(Set(found.map(\.id)).isDisjoint(with: old))
            #expect(found[0].repairs.contains { $0.contains(old[1]) })
            #expect(try again.awaitFates(of: found[0].id).map(\.outcome) == [.withheld])
            #expect(try again.status().store.faults == [])
            // If a copy of the database gets the old name again, repair imports none of its records a second time.
            let done = daemon.folder["state/issues.db.repaired-2026-11-21T00:00:00.000Z"]
            let left = try FileManager.default.contentsOfDirectory(atPath: daemon.folder["state"])
            #expect(!left.contains { $0.hasSuffix("-shm") && !$0.hasPrefix("issues.db-") })
            try FileManager.default.copyItem(atPath: done, toPath: daemon.folder["state/\(name)"])
            #expect(
                try daemon.issuectl(["repair"]).output
                    == "0 records recovered, 2 already stored, from:\n  \(name)\n")
            for file in [done, done + "-2"] { #expect(FileManager.default.fileExists(atPath: file)) }
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test(
        "Only operators may purge, repair and back up, and not even they may purge with an invalid filter",
        .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
    func operators() async throws {
        try await DaemonFixture.with { daemon in
            let stranger = try OtherUser.client(4242, of: daemon)
            let filter = IssueFilter(apps: ["shop"])
            #expect(try stranger.refusal(of: .purge, PurgeParameters(filter: filter)) == .denied)
            #expect(try stranger.refusal(of: .repair, RepairParameters()) == .denied)
            #expect(try stranger.refusal(of: .backup, JSONValue.object([])) == .denied)
            let root = try RawClient(path: daemon.socket)
            #expect(
                try root.refusal(of: .purge, PurgeParameters(filter: IssueFilter()))
                    == .invalidFilter(
                        field: "filter", reason: "an empty filter would erase all records; set a condition"))
            // A filter that every record matches is refused, too, and so is one with a misspelt destination.
            var filters = [IssueFilter(), IssueFilter(), IssueFilter()]
            filters[0].text = " "
            filters[1].destination = "logzio"
            (filters[2].destination, filters[2].outcomes) = ("logzoi", [.pending])
            for (filter, field) in zip(filters, ["text", "destination", "destination"]) {
                guard case .invalidFilter(field, _) = try root.refusal(of: .purge, PurgeParameters(filter: filter))
                else {
                    Issue.record("A purge is not refused because of its invalid \(field)")
                    continue
                }
            }
        }
    }
}

extension IssueFilter {
    fileprivate init(apps: [String]) {
        self.init()
        self.apps = apps
    }
}
