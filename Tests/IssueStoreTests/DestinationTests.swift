import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("A destination")
struct DestinationTests {
    private typealias Configured = StoreWriter.ConfiguredDestination

    private let first = Configured(name: "first", kind: "logzio", takesBacklog: false)
    private let all = Configured(name: "all", kind: "logzio", takesBacklog: true)

    private func destinations(of id: String, _ store: TemporaryStore) throws -> [String] {
        try store.reader().fates(of: id, viewer: .everything).map(\.destination)
    }

    @Test("A destination receives the records stored after its configuration or, if it takes the backlog, all records")
    func begins() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 10
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer, calls: 10)
            let before = Int64(log.entries.count)
            let rows = try writer.configure([first, all], at: store.wall)
            #expect(rows.map(\.name) == ["first", "all"])
            #expect(rows.map(\.cursor) == [RowID(before), 0])
            let ids = try store.store([IssueRecord(message: "later")], to: writer)
            let ledgers = try store.reader().figures(viewer: .everything).ledgers
            #expect(ledgers.map(\.ledger.received) == [1, before + 1])
            #expect(ledgers.map(\.ledger.pending) == [1, before + 1])
            #expect(try destinations(of: log.entries[0].id, store) == ["all"])
            #expect(try destinations(of: ids[0].text, store) == ["first", "all"])
            try expectSound(store)
        }
    }

    @Test("A destination receives the remaining records of a range that is partly removed")
    func beginsWithLess() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 40
            store.settings.blockRecords = 1
            let writer = try store.writer()
            _ = try SentLog.filled(store, writer, calls: 40)
            let range = try #require(
                try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic).oldest)
            // A slice has at most 32 blocks, here of one record each.
            #expect(try writer.forget(range) == ExpiryProgress(records: 32, expired: 0, isDone: false))
            _ = try writer.configure([all], at: store.wall)
            let left = try store.shell().table("SELECT count(*) FROM records", columns: 1)
            let ledger = try #require(try store.reader().figures(viewer: .everything).ledgers.first?.ledger)
            #expect(["\(ledger.received)"] == left[0])
            #expect(ledger.pending == ledger.received)
        }
    }

    @Test("A destination does not change when it is configured again")
    func stays() throws {
        try TemporaryStore.with { store in
            var rows: [DestinationRow] = []
            for _ in 0..<3 {
                let writer = try store.writer()
                try store.store([IssueRecord(message: "m")], to: writer)
                let now = try writer.configure([all, first], at: store.wall)
                if !rows.isEmpty { #expect(now == rows) }
                rows = now
                try store.store([IssueRecord(message: "m")], to: writer)
                try expectSound(store)
                // The next round stores its first record while no destination is configured.
                _ = try writer.configure([], at: store.wall)
            }
        }
    }

    @Test(
        "Until destinations are configured after a start, records are queued for the destinations of the previous run")
    func comesBeforeConfigured() throws {
        try TemporaryStore.with { store in
            _ = try store.writer().configure([all, first], at: store.wall)
            for configured in [[all, first], [all]] {
                let writer = try store.writer()
                try store.store([IssueRecord(message: "m", severity: .critical, count: 3)], to: writer)
                try expectSound(store)
                _ = try writer.configure(configured, at: store.wall)
                try store.store([IssueRecord(message: "m")], to: writer)
                try expectSound(store)
            }
            let ledgers = try store.reader().figures(viewer: .everything).ledgers
            #expect(ledgers.map(\.ledger.received) == [4, 3])
            #expect(ledgers.map(\.ledger.pending) == [4, 3])
        }
    }

    @Test("A destination changes its kind with its configuration")
    func changesKind() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let row = try writer.configure([first], at: store.wall)[0]
            let other = Configured(name: "first", kind: "otlp", takesBacklog: true)
            #expect(try writer.configure([other], at: store.wall) == [row])
            #expect(try store.reader().figures(viewer: .everything).ledgers.map(\.kind) == ["otlp"])
        }
    }

    @Test("A destination that is removed and configured again receives what arrived in between, once")
    func isPutBack() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 10
            let writer = try store.writer()
            _ = try writer.configure([first, all], at: store.wall)
            try store.store([IssueRecord(message: "a", count: 5)], to: writer)
            _ = try writer.configure([all], at: store.wall)
            let without = try store.store([IssueRecord(message: "b"), IssueRecord(message: "c")], to: writer)
            #expect(try destinations(of: without[0].text, store) == ["all"])
            try expectSound(store)
            _ = try writer.configure([], at: store.wall)
            try store.store([IssueRecord(message: "d")], to: writer)
            #expect(try store.reader().figures(viewer: .everything).ledgers.map(\.ledger.received) == [1, 3])
            try expectSound(store)
            _ = try writer.configure([all, first], at: store.wall)
            try store.store([IssueRecord(message: "e")], to: writer)
            let ledgers = try store.reader().figures(viewer: .everything).ledgers
            #expect(ledgers.map(\.ledger.received) == [5, 5])
            #expect(try destinations(of: without[0].text, store) == ["first", "all"])
            try expectSound(store)
        }
    }

    @Test("A destination reports the number and age of the records after its cursor, and its oldest priority record")
    func hasBacklog() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let id = try writer.configure([first], at: store.wall)[0].id
            let reader = try store.reader()
            #expect(try reader.backlog(of: id, after: 0) == StoreReader.Unprocessed())
            try store.store([IssueRecord(message: "a")], to: writer)
            let began = store.wall
            try store.store([IssueRecord(message: "a"), IssueRecord(message: "a")], to: writer)
            let second = store.wall
            try store.store([IssueRecord(message: "b", severity: .critical)], to: writer)
            let third = store.wall
            var backlog = try reader.backlog(of: id, after: 0)
            #expect(backlog.records == 4)
            #expect(backlog.oldest == began)
            #expect(backlog.oldestPriority == began)
            backlog = try reader.backlog(of: id, after: 1)
            #expect(backlog.records == 3)
            #expect(backlog.oldest == second)
            #expect(backlog.oldestPriority == third)
        }
    }

    @Test("A scan for a destination ends where a range ends or the clock offset changes; the next one continues there")
    func isWalked() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 10
            var log = SentLog()
            var samples = SampleRecords(seed: 6)
            for _ in 0..<4 {
                let writer = try store.writer()
                for _ in 0..<4 { try log.send(samples.records(4), to: writer, of: store) }
                store.wall = store.wall.advanced(by: .seconds(500))
            }
            let reader = try store.reader()
            let shell = try store.shell()
            let ends = try shell.numbers("SELECT last_id FROM ranges UNION SELECT first_id - 1 FROM clock")
            let edges = Set(ends.map { RowID($0) })
            var cursor: RowID = 0
            var walked: [OutboxRecord] = []
            var times: [IssueTimestamp] = []
            while true {
                let found = try reader.walk(after: cursor, limit: 6)
                guard let last = found.last?.candidate.record else { break }
                #expect(found.count == 6 || edges.contains(last) || last == RowID(log.entries.count))
                #expect(!found.dropLast().contains { edges.contains($0.candidate.record) })
                walked += found
                times += try reader.page(after: cursor, limit: 6).steps.map(\.receivedAt)
                cursor = last
            }
            #expect(walked.map(\.candidate.record) == log.entries.map(\.row))
            #expect(times == log.entries.map(\.receivedAt))
            #expect(walked.map(\.candidate.count) == log.entries.map { $0.record.count ?? 1 })
            #expect(walked.map(\.candidate.isReportable) == log.entries.map { $0.record.reportable ?? true })
            #expect(walked.map(\.candidate.severity) == log.entries.map { $0.record.severity ?? .error })
            #expect(zip(walked, walked.dropFirst()).allSatisfy { $0.at <= $1.at })
            let groups = Dictionary(grouping: walked, by: \.candidate.group)
            for (_, own) in groups {
                #expect(own.map(\.candidate.isFirstOfGroup) == own.indices.map { $0 == 0 })
            }
        }
    }

    @Test("A scan for a destination skips ranges whose records are gone")
    func isWalkedOver() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 3
            let writer = try store.writer()
            for _ in 0..<5 { try store.store((0..<3).map { _ in IssueRecord(message: "m") }, to: writer) }
            try store.deleteRecords(where: "id BETWEEN 2 AND 10")
            let reader = try store.reader()
            #expect(try reader.walk(after: 0, limit: 9).map(\.candidate.record) == [1])
            #expect(try reader.walk(after: 1, limit: 9).map(\.candidate.record) == [11, 12])
            #expect(try reader.walk(after: 15, limit: 9).isEmpty)
        }
    }

    @Test("The outage of a destination ends with its removal, and the rest of its state is kept")
    func outageOfRemoved() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let row = try writer.configure([first], at: store.wall)[0]
            var state = DestinationRow.State()
            (state.failingSince, state.requests) = (store.wall, 1)
            state.watch.paused(since: store.wall)
            try writer.save(state, destination: row.id)
            _ = try writer.configure([], at: store.wall)
            let found = try writer.configure([first], at: store.wall)[0].state
            #expect(found.failingSince == nil && found.watch.outageSince == nil && found.requests == 1)
        }
    }

    @Test("A destination keeps its saved state across a restart")
    func keepsState() throws {
        try TemporaryStore.with { store in
            var state = DestinationRow.State()
            state.progress = RetryProgress(attempts: 7, spent: .milliseconds(123_456))
            state.lastAnswer = "500 \"oh\" \u{1} é"
            state.lastSuccess = IssueTimestamp(millisecondsSince1970: 5)
            state.requests = 1
            state.resent = 2
            state.maybeDuplicate = 3
            state.day = 20_000
            state.dayBytes = .max
            state.unacknowledged = [7: LineSet([0..<1, 5..<9]), 12: LineSet()]
            state.lastLoggedState = "paused: unauthorised"
            state.failingSince = IssueTimestamp(millisecondsSince1970: 4)
            state.pace = SendPacer.Saved(factor: 0.5, level: -3.25, backlog: 2)
            state.pacedAt = IssueTimestamp(millisecondsSince1970: 6)
            do {
                let writer = try store.writer()
                let row = try writer.configure([first], at: store.wall)[0]
                #expect(row.state == DestinationRow.State())
                try writer.save(state, destination: row.id)
            }
            #expect(try store.writer().configure([first], at: store.wall)[0].state == state)
        }
    }
}
