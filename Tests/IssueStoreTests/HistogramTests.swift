import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("A histogram of the store")
struct HistogramTests {
    private func histogram(
        _ store: TemporaryStore, _ filter: IssueFilter = IssueFilter(), bucket: Duration = .seconds(120),
        by dimension: HistogramDimension, _ viewer: Viewer = .everything
    ) throws -> (frame: HistogramFrame, series: [HistogramSeries]) {
        let frame = try HistogramFrame(
            bucket: bucket, since: filter.since, until: filter.until, now: store.wall)
        return (frame, try store.reader().histogram(filter, frame, by: dimension, viewer: viewer))
    }

    /// Runs `body` with a store of records of some applications over half an hour, in ranges of twenty.
    private func filled(_ body: (TemporaryStore, StoreWriter) throws -> Void) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 20
            let writer = try store.writer()
            var samples = SampleRecords(seed: 7)
            for call in 0..<60 {
                store.pass(.seconds(29))
                try store.store(
                    samples.records(Int(samples.below(5)) + 1), from: .of(uid: call % 3 == 0 ? 7 : 1000), to: writer)
            }
            try body(store, writer)
        }
    }

    /// Counts by a plain scan of all rows.
    private func scan(
        _ store: TemporaryStore, _ frame: HistogramFrame, key: String, where condition: String = "1"
    ) throws -> [String: [Int]] {
        let rows = try store.shell().table(
            """
            SELECT \(key), received_at / 60000, count(*) FROM records JOIN series ON series.id = records.series
            JOIN groups ON groups.id = series."group" JOIN accounts ON accounts.id = series.account
            WHERE received_at BETWEEN \(frame.times.lowerBound) AND \(frame.times.upperBound) AND \(condition)
            GROUP BY 1, 2
            """, columns: 3)
        var counts: [String: [Int]] = [:]
        for row in rows {
            let none = [Int](repeating: 0, count: frame.bucketCount)
            let minute = try #require(Int64(row[1] ?? ""))
            counts[row[0] ?? "", default: none][frame.bucket(ofMinute: minute)] += Int(row[2] ?? "") ?? 0
        }
        return counts
    }

    private func dictionary(_ series: [HistogramSeries]) -> [String: [Int]] {
        Dictionary(series.map { ($0.key, $0.counts) }) { $1 }
    }

    @Test("A histogram counts what a plain scan counts, in closed ranges and in the open one, by each dimension")
    func scanned() throws {
        try filled { store, _ in
            #expect(try store.shell().number("SELECT count(*) FROM ranges") > 3)
            let total = try histogram(store, by: .total)
            #expect(dictionary(total.series) == (try scan(store, total.frame, key: "'total'")))
            let names = "(SELECT name FROM severities WHERE severities.severity = series.severity)"
            let levels = try histogram(store, by: .level)
            #expect(dictionary(levels.series) == (try scan(store, levels.frame, key: names)))
            #expect(levels.series.first?.key == "critical")
            let apps = try histogram(store, by: .app)
            #expect(dictionary(apps.series) == (try scan(store, apps.frame, key: "accounts.app")))
            #expect(apps.series.map(\.sum) == apps.series.map(\.sum).sorted(by: >))
            // The counts of each group if it is queried alone.
            for (key, counts) in try scan(store, total.frame, key: "groups.key") {
                var filter = IssueFilter()
                filter.groups = [GroupKey.text(key: try #require(Int64(key)))]
                let group = try histogram(store, filter, by: .group).series
                #expect(group.map(\.key) == filter.groups)
                #expect(group.map(\.counts) == [counts])
            }
            let groups = try histogram(store, by: .group).series
            #expect(groups.reduce(0) { $0 + $1.sum } == total.series.reduce(0) { $0 + $1.sum })
        }
    }

    @Test("A histogram counts only records that match the filter, including its times, and that the viewer may see")
    func filtered() throws {
        try filled { store, _ in
            var filter = IssueFilter()
            filter.level = .error
            filter.since = store.wall.advanced(by: .seconds(-1000))
            filter.until = store.wall.advanced(by: .seconds(-100))
            let severe = try histogram(store, filter, by: .total)
            #expect(
                dictionary(severe.series)
                    == (try scan(store, severe.frame, key: "'total'", where: "series.severity >= 3")))
            let own = try histogram(store, by: .total, .user(7))
            #expect(
                dictionary(own.series) == (try scan(store, own.frame, key: "'total'", where: "accounts.uid = 7")))
            #expect(try histogram(store, by: .total, .nothing).series.map(\.sum) == [0])
            #expect(try histogram(store, by: .group, .nothing).series.isEmpty)
        }
    }

    @Test("A histogram still counts records that retention removed, even after counts are combined per hour")
    func forgotten() throws {
        try filled { store, writer in
            let before = try histogram(store, by: .level).series
            let snapshot = try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
            let oldest = try #require(snapshot.oldest)
            while try !writer.forget(oldest).isDone {}
            #expect(try store.shell().number("SELECT min(id) FROM records") > 1)
            #expect(try histogram(store, by: .level).series == before)

            let hours = try histogram(store, bucket: .seconds(3600), by: .level).series
            var minute: Int64? = 0
            while let from = minute { minute = try writer.rollUpCounts(from: from, before: store.wall) }
            #expect(try histogram(store, bucket: .seconds(3600), by: .level).series == hours)
        }
    }

    @Test("Of many applications, those with the most records have a series, and the rest share the last one")
    func rest() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for number in 1...30 {
                try store.store(
                    (0..<number).map { _ in IssueRecord(message: "m", app: Application(name: "app\(number)")) },
                    from: .of(uid: UInt32(number)), to: writer)
            }
            let series = try histogram(store, by: .app).series
            #expect(series.count == 21)
            #expect(series.first?.key == "app30")
            #expect(series.last?.key == HistogramSeries.rest)
            #expect(series.last?.sum == (1...10).reduce(0, +))
            #expect(series.reduce(0) { $0 + $1.sum } == (1...30).reduce(0, +))
        }
    }

    @Test("A histogram counts nothing if the end of the filter is before its start, even within the same minute")
    func endsBeforeItStarts() throws {
        try filled { store, _ in
            var filter = IssueFilter()
            filter.since = store.wall.advanced(by: .seconds(-300))
            filter.until = store.wall.advanced(by: .seconds(-301))
            for dimension in HistogramDimension.allCases {
                let series = try histogram(store, filter, by: dimension).series
                #expect(series.map(\.sum) == (dimension == .total ? [0] : []))
                var swapped = filter
                (swapped.since, swapped.until) = (filter.until, filter.since)
                #expect(try histogram(store, swapped, by: dimension).series.contains { $0.sum > 0 })
            }
        }
    }

    @Test("A histogram rejects filters by fate, since counts have no fates")
    func fates() throws {
        try TemporaryStore.with { store in
            _ = try store.writer()
            var filter = IssueFilter()
            filter.outcomes = [.pending]
            #expect(throws: QueryFailure.self) { try histogram(store, filter, by: .total) }
        }
    }
}
