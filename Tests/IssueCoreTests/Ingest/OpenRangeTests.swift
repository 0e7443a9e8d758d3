import IssueCore
import Testing

@Suite("The open range")
struct OpenRangeTests {
    private struct Entry {
        var id: RowID
        var series: SeriesID
        var at: Int64
        var count: Int64
    }

    private func filled(_ range: inout OpenRange, records: Int, using traffic: inout SeededGenerator) -> [Entry] {
        var entries: [Entry] = []
        var time: Int64 = 1_790_000_000_000
        for _ in 0..<records {
            // The wall clock may be set back.
            time += traffic.happens(oneIn: 50) ? -traffic.number(below: 200_000) : traffic.number(below: 3000)
            if traffic.happens(oneIn: 40) {
                range.skip()
                continue
            }
            let entry = Entry(
                id: range.nextID, series: SeriesID(1 + traffic.number(below: traffic.number(below: 30) + 1)), at: time,
                count: 1 + traffic.number(below: 5))
            range.append(series: entry.series, receivedAt: entry.at, count: entry.count, bytes: 100)
            entries.append(entry)
        }
        return entries
    }

    private func expectEqual(_ range: OpenRange, _ entries: [Entry]) {
        let postings = range.postings()
        let bySeries = Dictionary(grouping: entries, by: \.series)
        #expect(postings.postings.map(\.series) == bySeries.keys.sorted())
        for posting in postings.postings {
            let own = bySeries[posting.series] ?? []
            #expect(PostingList.decode(postings.list(of: posting), base: range.firstID) == own.map(\.id))
            #expect(posting.records == Int64(own.count))
            // Each series counts with a fixed size besides its records, so that many small series are not overlooked.
            #expect(posting.bytes == Int64(own.count) * 100 + RangePostings.Posting.bytesOfSeries)
            #expect(posting.occurrences == own.map(\.count).reduce(0, +))
            #expect(posting.firstAt == own.map(\.at).min())
            #expect(posting.lastAt == own.map(\.at).max())
            var minutes: [Int64: (Int64, Int64)] = [:]
            for minute in postings.minutes where minute.series == posting.series {
                minutes[minute.minute, default: (0, 0)].0 += minute.records
                minutes[minute.minute, default: (0, 0)].1 += minute.occurrences
            }
            let recounted = Dictionary(grouping: own) { $0.at / 60_000 }
            #expect(minutes.mapValues(\.0) == recounted.mapValues { Int64($0.count) })
            #expect(minutes.mapValues(\.1) == recounted.mapValues { $0.map(\.count).reduce(0, +) })
        }
    }

    @Test("The open range counts no series for a skipped id, also after a failed commit")
    func skipped() {
        var range = OpenRange(firstID: 1)
        range.skip()
        #expect(range.seriesEstimate == 0)
        range.append(series: 5, receivedAt: 0, count: 1, bytes: 10)
        range.skip()
        range.append(series: 6, receivedAt: 0, count: 1, bytes: 10)
        #expect(range.seriesEstimate == 2)
        range.truncate(to: 3, byteCount: 10)
        #expect(range.seriesEstimate == 1)
    }

    @Test("The open range has the same counts and lists as a simple recount", arguments: 0..<6)
    func recounts(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        var range = OpenRange(firstID: RowID(1 + traffic.number(below: 1_000_000)))
        let entries = filled(&range, records: 3000, using: &traffic)
        #expect(range.count == 3000)
        #expect(range.lastID == range.firstID + 2999)
        expectEqual(range, entries)
    }

    @Test("The open range removes exactly the records after a given one")
    func truncates() {
        var traffic = SeededGenerator(seed: 3)
        var range = OpenRange(firstID: 10)
        let kept = filled(&range, records: 100, using: &traffic)
        let before = (range.count, range.byteCount)
        _ = filled(&range, records: 50, using: &traffic)
        range.truncate(to: before.0, byteCount: before.1)
        #expect(range.nextID == 110)
        #expect(range.byteCount == before.1)
        expectEqual(range, kept)
        range.truncate(to: range.count, byteCount: range.byteCount)
        expectEqual(range, kept)
        range.truncate(to: 0, byteCount: 0)
        #expect(range.count == 0)
        #expect(range.nextID == 10)
        #expect(range.postings().postings.isEmpty)
    }

    @Test("The next open range starts empty")
    func resets() {
        var traffic = SeededGenerator(seed: 4)
        var range = OpenRange(firstID: 1)
        _ = filled(&range, records: 100, using: &traffic)
        range.reset(firstID: range.nextID)
        #expect(range.firstID == 101)
        #expect(range.byteCount == 0)
        let entries = filled(&range, records: 20, using: &traffic)
        expectEqual(range, entries)
    }

    @Test("The open range keeps thousands of series apart")
    func manySeries() {
        var traffic = SeededGenerator(seed: 5)
        var range = OpenRange(firstID: 1)
        var expected: [SeriesID: [RowID]] = [:]
        for _ in 0..<20_000 {
            let series = SeriesID(1 + traffic.number(below: 5000) * traffic.number(below: 1 << 40))
            expected[series, default: []].append(range.nextID)
            range.append(series: series, receivedAt: 0, count: 1, bytes: 1)
        }
        let postings = range.postings()
        #expect(postings.postings.map(\.series) == expected.keys.sorted())
        #expect(
            postings.postings.allSatisfy {
                PostingList.decode(postings.list(of: $0), base: 1) == expected[$0.series]
            })
    }

    @Test("The open range counts its series, also after a commit was undone")
    func countsSeries() {
        var range = OpenRange(firstID: 1)
        func append(_ series: ClosedRange<Int64>) {
            for series in series { range.append(series: SeriesID(series), receivedAt: 0, count: 1, bytes: 1) }
        }
        append(65_000...66_000)
        append(65_500...66_100)
        #expect(range.seriesEstimate == 1101)
        range.truncate(to: 7, byteCount: 7)
        #expect(range.seriesEstimate == 7)
        append(65_005...65_010)
        #expect(range.seriesEstimate == 11)
        range.reset(firstID: range.nextID)
        #expect(range.seriesEstimate == 0)
    }

    @Test("The open range skips ids without a record")
    func skips() {
        var range = OpenRange(firstID: 5)
        range.skip()
        range.append(series: 3, receivedAt: 60_000, count: 2, bytes: 1)
        range.skip()
        #expect(range.nextID == 8)
        let postings = range.postings()
        #expect(PostingList.decode(postings.list(of: postings.postings[0]), base: 5) == [6])
        #expect(postings.postings.count == 1)
    }
}

extension RangePostings {
    /// Returns the posting list of a series.
    fileprivate func list(of posting: Posting) -> [UInt8] { Array(ids[posting.ids]) }
}
