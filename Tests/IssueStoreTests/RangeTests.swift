import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("Ranges of the record log")
struct RangeTests {
    @Test(
        "Ranges of the record log close with the commit that fills them, and match their rows exactly",
        arguments: [1, 7, 50])
    func close(size: Int) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = size
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer)
            let ranges = try store.shell().numbers("SELECT last_id FROM ranges ORDER BY id")
            #expect(ranges.count >= log.entries.count / (size + 10))
            #expect(log.entries.count - Int(ranges.last ?? 0) < size)
            try expectSound(store)
        }
    }

    @Test("Ranges of the record log close when they contain enough bytes, in whichever column")
    func closeByBytes() throws {
        try TemporaryStore.with { store in
            store.settings.rangeBytes = 10_000
            let writer = try store.writer()
            let text = String(repeating: "x", count: 1000)
            var one = IssueRecord(message: "m")
            one.metadata = ["x": .string(text)]
            var other = IssueRecord(message: "m")
            other.causes = [IssueCause(message: text)]
            let whole = IssueRecord(message: "\u{1}" + text)
            for index in 0..<30 { try store.store([[one, other, whole][index % 3]], to: writer) }
            #expect(try store.shell().number("SELECT count(*) FROM ranges") == 3)
            try expectSound(store)
        }
    }

    @Test(
        "Ranges of a small database are small, so that removing one leaves most records",
        arguments: [(1 << 20, 128 << 10), (16 << 20, 2 << 20), (1 << 30, 16 << 20)] as [(Int64, Int)])
    func smallDatabase(maxSize: Int64, rangeBytes: Int) throws {
        try TemporaryStore.with { store in
            store.settings.retention.maxSize = maxSize
            let writer = try store.writer()
            // A record whose message has no template takes as many bytes as its text.
            let text = String(repeating: "x", count: 32 << 10)
            var sent = 0
            while try store.shell().number("SELECT count(*) FROM ranges") == 0, sent < 1000 {
                try store.store([IssueRecord(message: "\u{1}" + text)], to: writer)
                sent += 1
            }
            #expect(abs(sent * text.utf8.count - rangeBytes) <= 64 << 10)
            try expectSound(store)
        }
    }

    @Test("Ranges of the record log close when they contain enough series, however few records")
    func closeBySeries() throws {
        try TemporaryStore.with { store in
            store.settings.rangeSeries = 10
            var writer = try store.writer()
            for index in 0..<36 {
                try store.store([IssueRecord(message: "m", code: Int64(index % 12))], to: writer)
                if index == 25 { writer = try store.writer() }
            }
            #expect(try store.shell().numbers("SELECT records FROM ranges ORDER BY id") == [10, 10, 10])
            try store.store((0..<30).map { IssueRecord(message: "m", code: $0) }, to: writer)
            #expect(try store.shell().numbers("SELECT records FROM ranges ORDER BY id") == [10, 10, 10, 36])
            try expectSound(store)
        }
    }

    @Test("Ranges of the record log close when the attributes of new series take enough bytes")
    func closeByAttributes() throws {
        try TemporaryStore.with { store in
            store.settings.rangeBytes = 35_000
            let writer = try store.writer()
            let long = String(repeating: "x", count: 2000)
            func send(_ codes: Range<Int64>) throws {
                for code in codes {
                    let source = SourceLocation(fileID: long, line: code, function: long)
                    try store.store([IssueRecord(message: "m", source: source)], to: writer)
                }
            }
            try send(0..<20)
            #expect(try store.shell().numbers("SELECT records FROM ranges ORDER BY id") == [5, 5, 5, 5])
            // Known series take no further space.
            try send(0..<20)
            #expect(try store.shell().number("SELECT count(*) FROM ranges") == 4)
            try expectSound(store)
        }
    }

    @Test("The attributes of new series count for the open range after a restart in the middle of it")
    func attributesAfterRestart() throws {
        try TemporaryStore.with { store in
            store.settings.rangeBytes = 35_000
            var writer = try store.writer()
            let long = String(repeating: "x", count: 2000)
            for code in 0..<20 as Range<Int64> {
                let source = SourceLocation(fileID: long, line: code, function: long)
                try store.store([IssueRecord(message: "m", source: source)], to: writer)
                let byteCount = writer.memory.open.byteCount
                writer = try store.writer()
                #expect(writer.memory.open.byteCount == byteCount)
            }
            #expect(try store.shell().numbers("SELECT records FROM ranges ORDER BY id") == [5, 5, 5, 5])
            try expectSound(store)
        }
    }

    @Test(
        "Ranges of the record log are the same whether or not the store was reopened in the middle of one",
        arguments: [1, 4, 13])
    func survivesRestart(calls: Int) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 20
            var log = SentLog()
            var samples = SampleRecords(seed: 8)
            for _ in 0..<8 {
                let writer = try store.writer()
                for _ in 0..<calls {
                    try log.send(samples.records(3), from: .of(uid: 1000), to: writer, of: store)
                }
                #expect(writer.memory.open.count + Int(writer.memory.open.firstID.rawValue) - 1 == log.entries.count)
                let again = try store.writer()
                #expect(again.memory.open.firstID == writer.memory.open.firstID)
                #expect(again.memory.open.byteCount == writer.memory.open.byteCount)
                #expect(again.memory.open.postings() == writer.memory.open.postings())
                #expect(again.memory.values.rangeID == writer.memory.values.rangeID)
            }
            #expect(log.entries.map(\.row) == Array(1...RowID(24 * calls)))
            try expectSound(store)
        }
    }

    @Test("Ranges of the record log stay exact when the wall clock is set back and forth")
    func survivesClock() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 25
            let writer = try store.writer()
            var log = SentLog()
            var samples = SampleRecords(seed: 3)
            for call in 0..<40 {
                store.wall = store.wall.advanced(by: .seconds(call % 7 == 3 ? -4000 : call % 11 == 5 ? 9000 : 20))
                try log.send(samples.records(4), to: writer, of: store)
            }
            try expectSound(store)
            let shell = try store.shell()
            let wrong = try shell.number(
                """
                SELECT count(*) FROM series_totals AS t JOIN (
                    SELECT series, count(*) AS records, sum(count) AS occurrences, min(received_at) AS first_at,
                           max(received_at) AS last_at FROM records GROUP BY series
                ) AS plain ON plain.series = t.series
                WHERE (t.records, t.occurrences, t.first_at, t.last_at)
                    IS NOT (plain.records, plain.occurrences, plain.first_at, plain.last_at)
                """)
            #expect(wrong == 0)
        }
    }

    @Test("Ranges of the record log close with the commit in which they reach 65,536 records")
    func holdsMany() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            var samples = SampleRecords(seed: 21)
            let submission = try Submission(of: samples.records(1000))
            for _ in 0..<67 { try store.commit(submission, to: writer) }
            let shell = try store.shell()
            #expect(try shell.numbers("SELECT last_id FROM ranges") == [66_000])
            #expect(try RangeAudit.faults(shell) == [])
            #expect(try shell.table("SELECT * FROM ledger_check", columns: 2) == [])
            #expect(try shell.number("SELECT sum(records) FROM ledger WHERE fate = 7") == 67_000)
            let sum = try store.reader().groups(.all, viewer: .everything).groups.map(\.records).reduce(0, +)
            #expect(sum == 67_000)
        }
    }
}
