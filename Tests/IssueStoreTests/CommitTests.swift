import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("A commit")
struct CommitTests {
    @Test(
        "A commit keeps the values of a record exactly as they were sent, and adds defaults for missing ones",
        arguments: [UInt64(1), 2])
    func keepsAll(seed: UInt64) throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer, calls: 30, seed: seed)
            let reader = try store.reader()
            for entry in log.entries {
                let stored = try #require(try reader.record(row: entry.row)?.stored)
                #expect(stored.id == entry.id)
                #expect(stored.receivedAt == entry.receivedAt)
                #expect(stored.sender == entry.process.sender)
                #expect(stored.repairs.isEmpty)
                #expect(stored.record == entry.record.withDefaults(receivedAt: entry.receivedAt))
            }
        }
    }

    @Test("A commit keeps metadata byte for byte")
    func keepsMetadata() throws {
        let metadata = #"{ "b":1.50e+1 ,"a":[ 1,{"é":"é\n"}], "a":-0}"#
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let call = SentCall([#"{"message":"m","metadata":\#(metadata)}"#, #"{"message":"m","metadata":{}}"#])
            try store.commit(Submission([call]), to: writer)
            #expect(try store.shell().table("SELECT metadata FROM records", columns: 1) == [[metadata], ["{}"]])
        }
    }

    @Test("A commit keeps a record with hostile text in every field")
    func keepsHostile() throws {
        let nasty = "'; DROP TABLE records; --\u{0}\u{1}\u{1F}%_\"\\🔥"
        var record = IssueRecord(message: nasty, severity: .critical, domain: nasty, code: .min, count: 1_000_000_000)
        record.firstOccurredAt = IssueTimestamp(millisecondsSince1970: -62_167_219_200_000)
        record.occurredAt = IssueTimestamp(millisecondsSince1970: 253_402_300_799_999)
        record.source = SourceLocation(fileID: nasty, line: .max, column: -1, function: nasty, module: nasty)
        record.app = Application(
            name: nasty, version: nasty, build: 0, environment: nasty, platform: nasty, network: nasty,
            development: false)
        record.fingerprint = nasty
        record.backtrace = [
            BacktraceFrame(image: nasty, buildID: nasty, offset: .max, symbol: nasty, file: nasty, line: 0)
        ]
        record.causes = [IssueCause(domain: nasty, code: .max, message: nasty)]
        record.metadata = .object([JSONValue.Member(nasty, .string(nasty))])
        record.reportable = false
        record.context = IssueContext(requestID: nasty, user: nasty)
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let ids = try store.store([record, IssueRecord(message: "")], to: writer)
            let reader = try store.reader()
            #expect(try reader.record(row: ids[0].row)?.stored.record == record)
            #expect(try reader.record(row: ids[1].row)?.stored.record.message == "")
            let groups = try reader.groups(.all, viewer: .everything).groups
            #expect(groups.count == 2)
            for group in groups { #expect(try reader.show(group.id, viewer: .everything).record != nil) }
        }
    }

    @Test("A commit assigns ascending ids, and none twice after the store is reopened")
    func givesIDs() throws {
        try TemporaryStore.with { store in
            var rows: [RowID] = []
            for _ in 0..<4 {
                let writer = try store.writer()
                rows += try store.store([IssueRecord(message: "a"), IssueRecord(message: "b 1")], to: writer).map(\.row)
                try store.commit(Submission([SentCall(["{}"])]), to: writer)
                rows += try store.store([IssueRecord(message: "a")], to: writer).map(\.row)
            }
            #expect(rows == Array(1...12))
            #expect(try store.writer().code == 0x0123_4567_89AB_CDEF & RecordID.storeBits)
        }
    }

    @Test("A commit returns the receipts of a call in order, with rejected records in between")
    func answersInOrder() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let one = SentCall(["7", #"{"message":"a"}"#, #"{"code":"x","message":"b"}"#, #"{"message":"c"}"#])
            let outcomes = try store.commit(
                Submission([one, SentCall([#"{"message":"d"}"#])]), Submission([SentCall(["{}"])], from: .of(uid: 5)),
                to: writer)
            #expect(outcomes.map(\.token) == [0, 1, 0])
            #expect(outcomes.map(\.connection) == [1000, 1000, 5])
            let id = { (row: RowID) in RecordID(store: writer.code, row: row).text }
            guard case .rejected(nil, _) = outcomes[0].mixed[0], case .rejected("code", _) = outcomes[0].mixed[2],
                case .rejected("message", _) = outcomes[2].mixed[0]
            else {
                Issue.record("\(outcomes)")
                return
            }
            #expect(outcomes[0].mixed[1] == .stored(id: id(1)))
            #expect(outcomes[0].mixed[3] == .stored(id: id(2)))
            #expect(outcomes[1].receipts == .run(first: RecordID(store: writer.code, row: 3), count: 1))
        }
    }

    @Test("Priority records of a subordinate id are charged to its owner, in a new series and in a known one")
    func accountableUser() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            var users: [UInt32] = []
            writer.callbacks.onPriorityRecords = { users += $0.map(\.uid) }
            var process = ReportingProcess.of(uid: 100_007)
            process.accountableUser = 1000
            for _ in 0..<2 {
                let records = [IssueRecord(message: "Disk is gone", severity: .critical)]
                try store.commit(try Submission(of: records, from: process), to: writer)
            }
            #expect(users == [1000, 1000])
        }
    }

    @Test("Commits of single records share a block until it is half full, and each range begins with a new block")
    func smallCommits() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for number in 0..<300 { try store.store([IssueRecord(message: "Order \(number) failed")], to: writer) }
            try writer.closeOpenRange()
            try store.store([IssueRecord(message: "Another order failed")], to: writer)
            #expect(try store.shell().numbers("SELECT records FROM blocks ORDER BY first_id") == [128, 128, 44, 1])
        }
    }

    @Test("A commit that fails leaves no trace, and the next one succeeds", arguments: [1, 3, 8, 400])
    func failsWhole(records: Int) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 20
            let writer = try store.writer()
            _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
            var samples = SampleRecords(seed: 5)
            var log = SentLog()
            try log.send(samples.records(15), to: writer, of: store)
            let before = try dump(store)

            // Limits the file to its current pages, so that the first growth fails.
            let pages = try writer.connection.pragma("page_count")
            try writer.connection.setPragma("max_page_count", to: pages)
            let big = samples.records(records).map { record in
                var record = record
                record.metadata = ["x": .string(samples.noise(20_000))]
                return record
            }
            for process in [ReportingProcess.ordinary, .of(uid: 1002)] {
                #expect(throws: StoreFailure.noSpace) { try store.store(big, from: process, to: writer) }
            }
            #expect(try dump(store) == before)

            try writer.connection.setPragma("max_page_count", to: 1 << 30)
            try log.send(samples.records(3), from: .of(uid: 1002), to: writer, of: store)
            try log.send(big, to: writer, of: store)
            try log.send(samples.records(30), to: writer, of: store)
            #expect(log.entries.map(\.row) == Array(1...RowID(48 + records)))
            let reader = try store.reader()
            for entry in log.entries {
                #expect(try reader.record(row: entry.row)?.stored.record.message == entry.record.message)
            }
            try expectSound(store)
        }
    }

    @Test("A commit that fails does not count against the limit on new groups of its application")
    func failsUncounted() throws {
        try TemporaryStore.with { store in
            store.settings.limits.newGroupsPerApplication = Rate(2, per: .seconds(900))
            let writer = try store.writer()
            try store.store([IssueRecord(message: "first")], to: writer)
            try writer.connection.setPragma("max_page_count", to: try writer.connection.pragma("page_count"))
            var big = IssueRecord(message: "second")
            var samples = SampleRecords(seed: 3)
            big.metadata = ["x": .string(samples.noise(50_000))]
            for _ in 0..<5 { #expect(throws: StoreFailure.noSpace) { try store.store([big], to: writer) } }
            try writer.connection.setPragma("max_page_count", to: 1 << 30)
            let id = try store.store([big], to: writer)
            #expect(try store.reader().record(row: id[0].row)?.fingerprint != "overflow")
        }
    }

    @Test("A commit that stores no record does not advance log time")
    func keepsClock() throws {
        try TemporaryStore.with { store in
            var log: [RecordLogInstant] = []
            func walked() throws -> RecordLogInstant? {
                try store.reader().walk(after: RowID(log.count), limit: 1).first?.at
            }
            do {
                let writer = try store.writer()
                try store.store([IssueRecord(message: "a")], to: writer)
            }
            log.append(try #require(try walked()))
            // After a restart the wall clock is a month ahead, and the first records are rejected.
            store.wall = store.wall.advanced(by: .seconds(30 * 86_400))
            do {
                let writer = try store.writer()
                try store.commit(Submission([SentCall(["{}"])]), to: writer)
            }
            let writer = try store.writer()
            try store.store([IssueRecord(message: "b")], to: writer)
            log.append(try #require(try walked()))
            #expect(log[1] > log[0])
            #expect(log[0].duration(to: log[1]) == RecordLogClock.maxGap)
        }
    }

    private func dump(_ store: TemporaryStore) throws -> [String] {
        let shell = try store.shell()
        return try [
            "records", "series", "groups", "accounts", "senders", "processes", "ledger", "express", "ranges",
            "postings", "counts", "totals", "clock", "stores", "producers",
        ].map { name in
            let columns = Int(try shell.number("SELECT count(*) FROM pragma_table_info('\(name)')"))
            return "\(name) \(try shell.table("SELECT * FROM \(name)", columns: columns))"
        }
    }
}

/// Checks the invariants of a store.
func expectSound(_ store: TemporaryStore, sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
    let shell = try store.shell()
    #expect(try LedgerAudit.faults(shell) == [], sourceLocation: sourceLocation)
    #expect(try RangeAudit.faults(shell) == [], sourceLocation: sourceLocation)
    #expect(
        try shell.table("PRAGMA integrity_check", columns: 1) == [["ok"]], sourceLocation: sourceLocation)
    #expect(try shell.table("PRAGMA foreign_key_check", columns: 1) == [], sourceLocation: sourceLocation)
}
