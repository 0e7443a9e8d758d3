import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Unusable databases", .daemonLog)
struct DamageTests {
    private func setAside(_ daemon: DaemonFixture) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: daemon.folder["state"])
            .filter { $0.hasPrefix("issues.db.damaged-") }
    }

    /// Expects that the file was moved aside unchanged, and that the daemon continues.
    private func expectSetAside(_ daemon: DaemonFixture, holding content: Data) async throws {
        let client = try RawClient(path: daemon.socket)
        #expect(try client.status().received == 0)
        #expect(try client.status().store.faults.count == 1)
        #expect(try client.report("Still collecting").count == 1)
        let kept = try #require(try setAside(daemon).first { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") })
        #expect(try Data(contentsOf: URL(filePath: daemon.folder["state/\(kept)"])) == content)
        try await daemon.logs("moving it aside")
    }

    @Test("A damaged database is moved aside at the start, and a new one is used")
    func damaged() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Before")
            try daemon.terminate()
            let junk = Data("This is no database. ".utf8) + Data(repeating: 7, count: 20_000)
            try junk.write(to: URL(filePath: daemon.database))
            try daemon.start()
            try await expectSetAside(daemon, holding: junk)
        }
    }

    @Test("A database of a newer version is moved aside unchanged")
    func newer() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Before")
            try daemon.terminate()
            try DatabaseFile(daemon.database, writable: true).execute("PRAGMA user_version = 9999")
            // The change is still in the WAL. It is copied into the file, whose content is compared below.
            try DatabaseFile(daemon.database, writable: true).execute("PRAGMA wal_checkpoint(TRUNCATE)")
            let content = try Data(contentsOf: URL(filePath: daemon.database))
            try daemon.start()
            try await expectSetAside(daemon, holding: content)
        }
    }

    @Test("A database of another program is moved aside unchanged")
    func foreign() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            try FileManager.default.createDirectory(
                atPath: daemon.folder["state"], withIntermediateDirectories: false)
            try DatabaseFile(daemon.database, writable: true).execute("CREATE TABLE theirs (x)")
            let content = try Data(contentsOf: URL(filePath: daemon.database))
            try daemon.start()
            try await expectSetAside(daemon, holding: content)
        }
    }

    /// Stops the daemon, damages the first block of its database, and starts it again. Returns the number of records in
    /// the block.
    private func damageFirstBlock(_ daemon: DaemonFixture) throws -> Int {
        try daemon.terminate()
        let file = try DatabaseFile(daemon.database, writable: true)
        let lost = try #require(
            Int(try file.rows("SELECT records FROM blocks WHERE first_id = 1", columns: 1)[0][0]))
        try file.execute("UPDATE blocks SET body = substr(body, 1, length(body) - 1) WHERE first_id = 1")
        try daemon.start()
        return lost
    }

    @Test("A damaged block makes only its own records unreadable, is logged once, and is listed in the status")
    func damagedBlock() async throws {
        try await DaemonFixture.with { daemon in
            let records = (0..<1000).map { IssueRecord(message: "Record \($0)") }
            _ = try RawClient(path: daemon.socket).report(records)
            let lost = try damageFirstBlock(daemon)
            let client = try RawClient(path: daemon.socket)
            #expect(try client.allRecords().count == 1000 - lost)
            #expect(try client.report("Still collecting").count == 1)
            let status = try client.status()
            #expect(status.received == 1001)
            #expect(
                status.store.faults == ["\(lost) records in damaged blocks of the database can't be read"])
            try await daemon.logs("id=store.block-damaged", count: 1)
            #expect(try setAside(daemon).isEmpty)
        }
    }

    @Test("A damaged block is found by a backup, and then known after a restart, to queries, and to sql and purge")
    func damagedBlockInBackup() async throws {
        try await DaemonFixture.with { daemon in
            let records = (0..<1000).map { IssueRecord(message: "Record \($0)") }
            let ids = try RawClient(path: daemon.socket).report(records).map { try $0.storedID }
            let lost = try damageFirstBlock(daemon)
            let backup = try RawClient(path: daemon.socket).call("org.issued.Collector.Backup").parameters
            #expect(try JSONValue(json: backup)["unreadable"]?.asInteger == Int64(lost))
            let fault = "\(lost) records in damaged blocks of the database can't be read"
            #expect(try RawClient(path: daemon.socket).status().store.faults == [fault])
            try daemon.terminate()
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            #expect(try client.status().store.faults == [fault])
            try await daemon.logs("id=store.block-damaged", count: 1)
            let answer = try client.call("org.issued.Collector.Show", #"{"id":"\#(ids[3])"}"#)
            #expect(answer.error == "org.issued.Collector.Unreadable")
            let page = try client.call("org.issued.Collector.Records", #"{"order":"oldest"}"#).parameters
            #expect(try JSONValue(json: page)["unreadable"]?.asInteger == Int64(lost))

            let query = "SELECT count(*) FROM records"
            let warning = "\(lost) records left out because their blocks are damaged"
            #expect(
                try daemon.issuectl(["sql", "\(query); \(query)"]).errors.components(separatedBy: warning).count == 3)
            let purge = try daemon.issuectl(["purge", "--text", "Record", "--yes"]).output
            #expect(purge.contains("\(lost) records in damaged blocks, which may match"))
            #expect(purge.contains("commands and units of senders that have no readable records"))
        }
    }

    @Test("A deleted database is created again")
    func deleted() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Before")
            try daemon.kill()
            try FileManager.default.removeItem(atPath: daemon.folder["state"])
            try daemon.start()
            #expect(try RawClient(path: daemon.socket).report("After").count == 1)
            try await eventually("the status has the record") {
                try RawClient(path: daemon.socket).status().received == 1
            }
        }
    }

    enum WALDamage: CaseIterable {
        case removed, truncated, damaged, zeroed
    }

    @Test(
        "If a killed daemon's WAL is damaged, only records in the WAL are lost, which is logged once; no id is reused",
        arguments: WALDamage.allCases)
    func damagedWAL(_ damage: WALDamage) async throws {
        try await DaemonFixture.with { daemon in
            let early = try RawClient(path: daemon.socket).report("In the database")
            // A stop copies the WAL into the database.
            try daemon.restart()
            var ids = Set(early)
            for number in 1...20 {
                ids.insert(try RawClient(path: daemon.socket).report("Record \(number)")[0])
            }
            try daemon.kill()
            let url = URL(filePath: daemon.database + "-wal")
            var log = try Data(contentsOf: url)
            switch damage {
            case .removed: try FileManager.default.removeItem(at: url)
            case .truncated: try log.prefix(log.count / 2).write(to: url)
            case .damaged:
                log[log.count / 2] ^= 1
                try log.write(to: url)
            case .zeroed: try Data(count: log.count).write(to: url)
            }
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            let left = try client.status().received
            #expect((1..<21).contains(left))
            let records = try client.allRecords()
            #expect(records.count == Int(left) && records.last?.id == early[0])
            try await daemon.logs("id=store.commits-lost", count: 1)
            for number in 1...20 {
                #expect(ids.insert(try client.report("After \(number)")[0]).inserted)
            }
            try daemon.kill()
            try daemon.start()
            #expect(try RawClient(path: daemon.socket).allRecords().count == Int(left) + 20)
            try await daemon.logs("id=store.commits-lost", count: 1)
        }
    }

    @Test("A database that is damaged while the daemon runs is moved aside, and reports are answered again")
    func damagedMeanwhile() async throws {
        try await DaemonFixture.with { daemon in
            let records = (0..<500).map { IssueRecord(message: "Record \($0) " + String(repeating: "x", count: 200)) }
            for _ in 1...10 { _ = try RawClient(path: daemon.socket).report(records) }
            // After a restart, all records are in the database file, and no page is cached.
            try daemon.restart()
            let startedAt = try RawClient(path: daemon.socket).status().startedAt
            _ = try RawClient(path: daemon.socket).call(
                "org.issued.Collector.Report", #"{"records":[{"severity":"error"}]}"#)
            let size = try #require(
                try FileManager.default.attributesOfItem(atPath: daemon.database)[.size] as? Int)
            let file = try FileHandle(forWritingTo: URL(filePath: daemon.database))
            try file.seek(toOffset: 8192)
            try file.write(contentsOf: Data(repeating: 0x5A, count: size - 8192))
            try file.close()
            try await eventually("the damage is detected") {
                let client = try? RawClient(path: daemon.socket)
                _ = try? client?.report((0..<50).map { IssueRecord(message: "New \($0)", domain: "d\($0)") })
                return daemon.log.contains("moving it aside")
            }
            try await eventually("reports are answered again") {
                guard let client = try? RawClient(path: daemon.socket) else { return false }
                return (try? client.report("After")) != nil
            }
            #expect(try !setAside(daemon).isEmpty)
            let status = try RawClient(path: daemon.socket).status()
            #expect(status.startedAt == startedAt && status.rejected == 1)
        }
    }
}
